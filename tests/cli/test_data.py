from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
import torch

from geco.cli.main import main
from geco.data import load_dataset
from geco.data.cache import Cache
from geco.data.dataset import GraphDataset
from geco.data.paths import cache_folder, entries, raw_files, raw_folders
from geco.data.registry import DATASETS, EMBEDDED, find
from geco.store import Entry
from tests.cli.conftest import Run


def test_list_has_every_name_once(run: Run) -> None:
    lines = run("data", "list").splitlines()
    names = [line.split()[0] for line in lines[2 : 2 + len(DATASETS) + len(EMBEDDED)]]
    assert names == [*DATASETS, *EMBEDDED]
    row = next(line for line in lines if line.startswith("peptides-struct "))
    cells = ["graph values", "mae ↓", "15,535", "150.9", "307.3", "0.2464", "-", "CC BY-NC 4.0", "Peptides-struct"]
    assert re.split(r"\s{2,}", row)[1:] == cells


def test_list_says_what_is_here(run: Run, tmp_path: Path) -> None:
    spec = find("cora")
    folder = tmp_path / "data" / spec.folders[-1]
    folder.mkdir(parents=True)
    for file in spec.layouts[0].files:
        assert raw_files(spec, tmp_path / "data") is None  # one file is not enough
        (folder / file).touch()
    assert raw_files(spec, tmp_path / "data") == (folder, spec.layouts[0])
    Cache().put("pubmed", {}, Entry({"x": torch.ones(1)}, {}))
    Cache().put("digits-lap-pe", {}, Entry({"x": torch.ones(1)}, {}))  # an encoding alone is not the data set
    lines = run("data", "list", "--data-dir", str(tmp_path / "data")).splitlines()
    here = {line.split()[0]: re.split(r"\s{2,}", line) for line in lines if "  " in line}
    assert "raw" in here["cora"]
    assert "cached" in here["pubmed"]
    assert "-" in here["citeseer"]
    assert "embedded" in here["digits"]


def on_terminal(columns: int, *words: str) -> list[str]:
    """Lines that a command shows on a terminal so wide."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen([sys.executable, "-m", "geco", *words], stdout=end, stderr=end, env=environment):
        os.close(end)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal's way to say that the command has ended
            while part := os.read(terminal, 4096):
                shown += part
    os.close(terminal)
    return shown.decode().splitlines()


@pytest.mark.parametrize("columns", [80, 120])
def test_list_fits_the_terminal(columns: int) -> None:
    lines = on_terminal(columns, "data", "list")
    assert len(lines) > len(DATASETS)
    assert max(map(len, lines)) <= columns
    assert ("edges" in lines[0]) == (columns == 120)


def test_places_are_those_of_the_cache_and_the_loader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.setenv("GECO_DATA", str(tmp_path / "given"))
    assert raw_folders(find("cora"))[0] == tmp_path / "given" / "cora"
    assert raw_folders(find("cora"))[-1] == tmp_path / "cache" / "raw" / "cora"
    folder = raw_folders(find("cora"))[-1]
    folder.mkdir(parents=True)
    for file in find("cora").layouts[0].files:
        (folder / file).touch()
    assert raw_files(find("cora")) == load_dataset.locate(find("cora"), offline=True)


def test_entries_are_a_data_sets_own(tmp_path: Path) -> None:
    for label in ("cora", "cora-lap-pe", "coral", "pubmed"):
        Cache().put(label, {}, Entry({"x": torch.ones(1)}, {}))
    (tmp_path / "cache" / "cora-notes").mkdir()
    assert [path.name[:-21] for path in entries("cora")] == ["cora", "cora-lap-pe"]


def test_prepare_makes_once(run: Run, drawn: GraphDataset, tmp_path: Path) -> None:
    command = ("data", "prepare", "digits", "--encodings", "lap-pe:3", "degree", "--workers", "0")
    first = run(*command)
    assert f"graphs 4, nodes 200, edges {drawn.num_edges:,}" in first
    made = re.findall(r"made (\S+), ", first)
    assert sorted(Path(path).name[:-21] for path in made) == ["digits-degree", "digits-lap_pe"]
    assert all(Path(path).is_dir() for path in made)
    again = run(*command)
    assert "made" not in again
    assert f"was there already, in {tmp_path / 'cache'}" in again
    (Path(made[0]) / "data.safetensors").write_bytes(b"damaged")
    assert re.findall(r"made (\S+), ", run(*command)) == made[:1]


def test_prepare_takes_its_cache_from_the_flag(run: Run, drawn: GraphDataset, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    run("data", "prepare", "digits", "--encodings", "degree", "--cache-dir", str(folder))
    assert [path.name[:-21] for path in folder.iterdir() if path.is_dir()] == ["digits-degree"]
    assert not (tmp_path / "cache").exists()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "pets"
    folder.mkdir()
    rows = [f"n{i},{i % 5},{'cat' if i % 3 else 'dog'}" for i in range(30)]
    (folder / "nodes.csv").write_text("\n".join(["id,age,kind", *rows]), encoding="utf-8")
    (folder / "edges.csv").write_text(
        "\n".join(["source,target", *(f"n{i},n{i + 1}" for i in range(29))]), encoding="utf-8"
    )
    return folder


def test_import_shows_keeps_and_loads(
    run: Run, capsys: pytest.CaptureFixture[str], files: Path, tmp_path: Path
) -> None:
    command = ("data", "import", str(files), "--label", "kind")
    shown = run(*command, "--dry-run")
    assert "classes: cat 20, dog 10" in shown
    assert not (tmp_path / "cache").exists()
    main([*command, "--name", "pets"])
    kept = capsys.readouterr()
    assert kept.out == shown
    assert "next: `geco data info pets`" in kept.err
    assert re.search(r"^pets +node class +accuracy +imported$", run("data", "list"), re.MULTILINE)
    assert re.search(r"^edges, each direction counted +58$", run("data", "info", "pets"), re.MULTILINE)


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        ([], 2, "--name NAME"),
        (["--name", "cora", "--label", "kind"], 2, "cora"),
        (["--name", "pets", "--label", "absent"], 3, "absent"),
        (["--name", "pets", "--lable", "kind"], 2, "--label"),
    ],
)
def test_import_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], files: Path, flags: list[str], code: int, message: str
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["data", "import", str(files), *flags])
    assert end.value.code == code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert message in lines[0]
