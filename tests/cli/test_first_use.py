"""What a new user tries first, as typed: the fifteen mistakes found at a first use, each named by what holds now.

Held elsewhere, more widely: failed starts in `tests/train/test_run_folder_failed_start.py`, words of `geco train`, such
as flags before the name, in `tests/cli/test_settings.py`, who uses edge data in `tests/train/test_unused.py`. Windows
has `tests/cli/test_main_on_windows.py` to itself.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from geco.cli.main import main

QUICK = ("--train.epochs", "2", "--model.hidden", "4", "--train.threads", "1")
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """A ring of cats and dogs, whose edges have a weight and a length."""
    folder = tmp_path / "in"
    folder.mkdir()
    rows = [f"n{i},{i % 5},{i % 2},{('cat', 'dog')[i % 2]},{'abcd'[i % 4]}" for i in range(24)]
    (folder / "nodes.csv").write_text("\n".join(["id,age,tall,label,group", *rows]))
    edges = [f"n{i},n{(i + 1) % 24},{1 + i % 3},{i % 7}" for i in range(24)]
    (folder / "edges.csv").write_text("\n".join(["source,target,weight,length", *edges]))
    return folder


def geco(capsys: Capture, *words: str | Path, code: int = 0) -> tuple[str, str]:
    """Return what a command prints on both streams; it must end with this code."""
    ended = 0
    try:
        main([str(word) for word in words])
    except SystemExit as end:
        ended = int(end.code or 0)
    out, err = capsys.readouterr()
    assert ended == code, f"{out}\n{err}"
    return out, err


def refused(capsys: Capture, code: int, *words: str | Path) -> str:
    """Return the one line with which a command is refused."""
    (line,) = geco(capsys, *words, code=code)[1].splitlines()
    return line


def imported(capsys: Capture, folder: Path, name: str = "pets") -> None:
    geco(capsys, "data", "import", folder, "--name", name, "--ignore", "group")


def test_the_data_set_that_a_flag_names_is_trained(capsys: Capture, pets: Path, tmp_path: Path) -> None:
    imported(capsys, pets)
    out, _ = geco(capsys, "train", "--data.name", "pets", *QUICK, "--out", tmp_path / "r")
    assert "\npets, geco: test accuracy" in out


def test_the_configuration_of_a_run_trains_its_data_set(capsys: Capture, pets: Path, tmp_path: Path) -> None:
    imported(capsys, pets)
    geco(capsys, "train", "pets", *QUICK, "--model.name", "gcn", "--out", tmp_path / "r")
    out, _ = geco(capsys, "train", "--config", tmp_path / "r" / "seed-0" / "config.toml", "--out", tmp_path / "s")
    assert "\npets, gcn: test accuracy" in out


def test_paths_may_be_text(capsys: Capture, pets: Path, tmp_path: Path) -> None:
    from geco.data.user.read import read_own
    from geco.train.trained_run import load_run

    imported(capsys, pets)
    geco(capsys, "train", "pets", *QUICK, "--out", tmp_path / "r")
    assert load_run(str(tmp_path / "r")).schema is not None
    assert read_own(str(pets))[0].num_nodes == 24


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--metric", "f1"], "no metric is called 'f1'; choose one of accuracy, micro-f1, macro-f1, auroc, ap, mae,"),
        (["--metric", "auroc"], "the metric 'auroc' does not suit 4 classes; choose one of accuracy, micro-f1, macro"),
        (["--metric", "mae"], "the metric 'mae' does not suit 4 classes"),
        (["--label", "age", "--task", "values", "--metric", "accuracy"], "does not suit values; choose one of mae"),
    ],
)
def test_a_metric_that_cannot_work_is_refused_at_import(
    capsys: Capture, pets: Path, flags: list[str], said: str
) -> None:
    words = [
        "data",
        "import",
        pets,
        "--name",
        "pets",
        *(["--label", "group"] if "--label" not in flags else []),
        *flags,
    ]
    assert said in refused(capsys, 2, *words)
    assert "pets" not in geco(capsys, "data", "list")[0]


@pytest.mark.parametrize(
    ("model", "unused"),
    [("gin", ["edge_weight", "edge_attr"]), ("gcn", ["edge_attr"]), ("gat", ["edge_weight"]), ("hybrid", [])],
)
def test_edge_data_that_a_model_does_not_use_is_named_before_training(
    capsys: Capture, pets: Path, tmp_path: Path, model: str, unused: list[str]
) -> None:
    imported(capsys, pets)
    _, err = geco(capsys, "train", "pets", *QUICK, "--model.name", model, "--seeds", "0", "1", "--out", tmp_path / "r")
    names = {"edge_weight": "edge weights", "edge_attr": "edge features"}
    wanted = f"warning: {model} does not use the {' and '.join(names[field] for field in unused)} of pets;"
    assert err.count(wanted) == bool(unused)
    assert err.count("does not use") == bool(unused)
    kept = json.loads((tmp_path / "r" / "seed-1" / "result.json").read_text())
    assert kept["unused"] == unused


def test_a_failed_start_leaves_nothing_that_blocks(
    capsys: Capture, pets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(capsys, pets)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    words = ("train", "pets", *QUICK, "--out", "runs/a")
    refused(capsys, 2, *words, "--train.tensorboard")
    geco(capsys, *words)
    infinite = ("--optim.lr", "1e20", "--optim.warmup", "0", "--optim.clip", "0", "--model.name", "gcn")
    geco(capsys, "train", "pets", *QUICK, *infinite, "--out", "runs/b", code=5)
    geco(capsys, "train", "pets", *QUICK, "--out", "runs/b", "--resume", "auto")
    geco(capsys, "train", "pets", *QUICK, *infinite, "--out", "runs/c", code=5)
    geco(capsys, "report", *sorted(Path("runs").iterdir()), "-o", "page.html")
    assert "runs/b" in Path("page.html").read_text()


def test_an_import_replaces_nothing_unasked_and_can_be_removed(capsys: Capture, pets: Path) -> None:
    imported(capsys, pets)
    again = ("data", "import", pets, "--name", "pets", "--directed", "--ignore", "group")
    line = refused(capsys, 2, *again)
    assert "you have a data set called pets; choose another name, or replace it with --replace" in line
    geco(capsys, *again, "--dry-run")
    before = (pets / "edges.csv").read_text()
    (pets / "edges.csv").write_text(f"{before}\nn0,nowhere,1,1")
    assert "'nowhere' is not a node" in refused(capsys, 3, *again, "--replace")
    assert _edges(capsys) == 48, "the old one is still there"
    (pets / "edges.csv").write_text(before)
    geco(capsys, *again, "--replace")
    assert _edges(capsys) == 24
    assert "removed " in geco(capsys, "data", "remove", "pets")[0]
    assert "pets" not in geco(capsys, "data", "list")[0]


def _edges(capsys: Capture) -> int:
    found = re.search(r"edges, each direction counted +([\d,]+)", geco(capsys, "data", "info", "pets")[0])
    assert found
    return int(found[1].replace(",", ""))


def test_widths_in_and_out_as_pyg_has_them_are_refused_with_the_right_call() -> None:
    from geco.nn import GECOConv

    with pytest.raises(ValueError, match=r"GECOConv\(64\)"):
        GECOConv(64, 64)


def test_eval_is_over_all_seeds(capsys: Capture, pets: Path, tmp_path: Path) -> None:
    imported(capsys, pets)
    geco(capsys, "train", "pets", *QUICK, "--seeds", "0", "1", "2", "--out", tmp_path / "r")
    out, _ = geco(capsys, "eval", tmp_path / "r")
    assert all(re.search(rf"^{seed} +\d\.\d{{4}} ", out, re.MULTILINE) for seed in (0, 1, 2))
    assert re.search(r"^mean +\d\.\d{4} ± ", out, re.MULTILINE)


def test_a_report_draws_all_seeds_and_tells_small_times(capsys: Capture, pets: Path, tmp_path: Path) -> None:
    imported(capsys, pets)
    geco(capsys, "train", "pets", *QUICK, "--train.epochs", "3", "--seeds", "0", "1", "--out", tmp_path / "r")
    words = ("report", tmp_path / "r", "-o", tmp_path / "page.html")
    geco(capsys, *words)
    before = (tmp_path / "page.html").read_text()
    file = tmp_path / "r" / "seed-1" / "metrics.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({**line, "loss": line["loss"] / 2}) + "\n" for line in lines))
    geco(capsys, *words)
    assert (tmp_path / "page.html").read_text() != before, "curves of the second seed"
    assert "<td>0.0</td>" not in before


def test_predictions_are_written_as_the_name_says(capsys: Capture, pets: Path, tmp_path: Path) -> None:
    imported(capsys, pets)
    geco(capsys, "train", "pets", *QUICK, "--out", tmp_path / "r")
    words = ("predict", tmp_path / "r", "--data", pets, "-o")
    geco(capsys, *words, tmp_path / "out.parquet")
    assert (tmp_path / "out.parquet").read_bytes()[:4] == b"PAR1"
    assert "must end in one of .csv, .csv.gz, .parquet" in refused(capsys, 2, *words, tmp_path / "out.xlsx")


@pytest.mark.parametrize(("wrong", "meant"), [("digitz", "digits"), ("pests", "pets"), ("cor", "cora")])
def test_the_nearest_name_is_suggested(capsys: Capture, pets: Path, wrong: str, meant: str) -> None:
    imported(capsys, pets)
    for command in (["data", "info"], ["data", "prepare"], ["train"]):
        assert f"no data set is called '{wrong}'; did you mean {meant}" in refused(capsys, 3, *command, wrong)


@pytest.mark.parametrize("last", [True, False])
def test_a_flag_of_several_values_leaves_the_path(capsys: Capture, pets: Path, last: bool) -> None:
    name, ignored = ["--name", "pets"], ["--ignore", "age", "group"]
    geco(capsys, "data", "import", *(name if last else []), *ignored, pets, *([] if last else name))
    assert re.search(r"\nfeatures +1\b", geco(capsys, "data", "info", "pets")[0])
    line = refused(capsys, 2, "data", "import", "--ignore", "age", pets / "nothing", "--dry-run")
    assert "Missing from geco data import: PATH" in line
    assert line.endswith("flags of several values take all words after them: write it first")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_of_a_run_that_goes_on_starts_where_the_run_does(
    capsys: Capture, pets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(capsys, pets)
    words = ("train", "pets", *QUICK, "--out", tmp_path / "r")
    geco(capsys, *words)
    (tmp_path / "r" / "seed-0" / "result.json").unlink()
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    geco(capsys, *words, "--resume", "auto")
    assert " 0/2" not in terminal.getvalue(), "as if both epochs had been trained in no time"
    assert " 2/2" in terminal.getvalue()


@pytest.mark.slow
def test_what_is_said_at_an_interrupt_is_below_the_bar(tmp_path: Path) -> None:
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (24, 100))
    os.set_blocking(ours, False)
    words = [sys.executable, "-m", "geco", "train", "digits", "--train.epochs", "100000", "--out", str(tmp_path / "r")]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=theirs, start_new_session=True) as process:
        os.close(theirs)
        assert re.search(rb"[1-9]\d*/100000", _heard(ours, rb"[1-9]\d*/100000"))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 143
        said = _heard(ours, rb"resume auto")
    os.close(ours)
    assert re.search(rb"[\r\n]stopping after this step", said), said


def _heard(terminal: int, wanted: bytes) -> bytes:
    """Return what a terminal shows until it shows what is wanted, or a minute is over."""
    said, end = b"", time.monotonic() + 60
    while not re.search(wanted, said) and time.monotonic() < end:
        with contextlib.suppress(OSError):  # nothing yet, or nobody there any more
            said += os.read(terminal, 4096)
        time.sleep(0.02)
    return said
