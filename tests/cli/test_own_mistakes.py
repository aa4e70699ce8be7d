"""What people do with their own data that would give wrong numbers if nobody said a word: as typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from geco.cli.main import main
from geco.train.trained_run import load_run

QUICK = ("--train.epochs", "2", "--model.hidden", "4", "--train.threads", "1")
NODES = 40
Capture = pytest.CaptureFixture[str]
Cells = Callable[[int], object]


def files(folder: Path, *, edges: list[str] | None = None, **columns: Cells) -> Path:
    """Write a ring of nodes with the given columns."""
    folder.mkdir(exist_ok=True)
    rows = [
        ",".join(["id", *columns]),
        *(",".join([f"n{i}", *(str(c(i)) for c in columns.values())]) for i in range(NODES)),
    ]
    (folder / "nodes.csv").write_text("\n".join(rows))
    ring = [f"n{i},n{(i + 1) % NODES}" for i in range(NODES)]
    (folder / "edges.csv").write_text("\n".join(edges or ["source,target", *ring]))
    return folder


def geco(capsys: Capture, *words: str | Path, code: int = 0) -> str:
    """Return all that a command prints; it must end with this code."""
    ended = 0
    try:
        main([str(word) for word in words])
    except SystemExit as end:
        ended = int(end.code or 0)
    shown = capsys.readouterr()
    assert ended == code, shown
    return shown.out + shown.err


def trained(capsys: Capture, folder: Path, out: Path, *flags: str) -> str:
    """Import and train, and return all that was printed."""
    said = geco(capsys, "data", "import", folder, "--name", "mine", "--replace", *flags)
    return said + geco(capsys, "train", "mine", *QUICK, "--out", out)


def age(i: int) -> int:
    return i % 5


def kind(i: int) -> str:
    return ("cat", "dog")[i % 2]


@pytest.mark.parametrize("weight", [False, True])
def test_directed_edges_stay_directed_in_training_and_prediction(capsys: Capture, tmp_path: Path, weight: bool) -> None:
    lines = [f"n0,n{i}{',1' if weight else ''}" for i in range(1, NODES)]
    folder = files(tmp_path / "in", edges=["source,target" + ",weight" * weight, *lines], age=age, label=kind)
    said = trained(capsys, folder, tmp_path / "r", "--directed")
    assert f"{NODES - 1} directed edges" in said
    words = ("predict", tmp_path / "r", "--data", folder, "-o")
    geco(capsys, *words, tmp_path / "a.csv")
    text = (folder / "nodes.csv").read_text()
    (folder / "nodes.csv").write_text(text.replace("n7,2", "n7,90"))  # nothing goes out of n7
    geco(capsys, *words, tmp_path / "b.csv")
    before, after = ((tmp_path / f"{name}.csv").read_text().splitlines() for name in "ab")
    run = load_run(tmp_path / "r")
    assert run.info.directed
    if run.config.model.filter == "none":
        changed = [line.split(",")[0] for line, other in zip(before, after, strict=True) if line != other]
        assert changed == ["n7"]


def test_scores_on_data_that_changed_are_said_to_be(capsys: Capture, tmp_path: Path) -> None:
    folder = files(tmp_path / "in", age=age, label=kind)
    trained(capsys, folder, tmp_path / "r")
    assert "has changed" not in geco(capsys, "eval", tmp_path / "r")
    again = ("data", "import", folder, "--name", "mine", "--replace")
    geco(capsys, *again)
    assert "has changed" not in geco(capsys, "eval", tmp_path / "r"), "imported alike"
    geco(capsys, *again, "--seed", "1")
    wanted = "warning: mine has changed since the run was trained: what was trained on may be in what is scored"
    assert wanted in geco(capsys, "eval", tmp_path / "r")
    files(folder, age=age, label=lambda i: ("bat", "dog")[i % 2])
    geco(capsys, *again)
    said = geco(capsys, "eval", tmp_path / "r", code=3)
    assert "it asks for 2 class of nodes bat, dog, then for 2 class of nodes cat, dog; train again" in said


def test_minus_one_is_said_to_be_a_class(capsys: Capture, tmp_path: Path) -> None:
    folder = files(tmp_path / "in", age=age, label=lambda i: (-1, 0, 1)[i % 3])
    said = trained(capsys, folder, tmp_path / "r")
    assert "warning: -1 is taken as a class (14 rows); if it means unknown, leave these cells empty" in said
    assert "3 classes of nodes" in said
    files(folder, age=age, label=lambda i: (-1, 1)[i % 2])
    assert "warning" not in trained(capsys, folder, tmp_path / "s")


def test_a_class_that_training_has_none_of_is_named(capsys: Capture, tmp_path: Path) -> None:
    part = ("train", "train", "train", "valid", "test")
    folder = files(
        tmp_path / "in", age=lambda i: i % 7, split=lambda i: part[i // 8], label=lambda i: kind(i) if i < 32 else "elk"
    )
    said = trained(capsys, folder, tmp_path / "r")
    wanted = "warning: mine: split 0 trains on none of the classes elk, which 8 of validation and test are"
    assert wanted in said


def copied(i: int) -> str:
    return {"cat": "felis", "dog": "canis"}[kind(i)]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"copy": copied, "label": kind}, True),
        ({"copy": lambda i: 3 + i % 2, "label": kind}, True),
        ({"copy": lambda i: 3 + (i % 2 and i < 30), "label": kind}, False),
        ({"copy": lambda i: 9.5 * i, "label": lambda i: i / 7}, True),
        ({"copy": lambda i: 9.5 * i + (i == 30), "label": lambda i: i / 7}, False),
    ],
)
def test_a_feature_that_tells_the_label_is_named(
    capsys: Capture, tmp_path: Path, columns: dict[str, Cells], told: bool
) -> None:
    said = trained(capsys, files(tmp_path / "in", age=age, **columns), tmp_path / "r")
    assert ("warning: the feature copy tells the " in said) == told
    assert said.count("; if it is not known before, leave it out: --ignore copy") == told


def test_labels_that_are_all_alike(capsys: Capture, tmp_path: Path) -> None:
    folder, words = tmp_path / "in", ("data", "import", tmp_path / "in", "--name", "mine")
    for value in (7, 3.5, "cat"):
        files(folder, age=age, label=lambda _, value=value: value)  # type: ignore[misc]
        assert "there is nothing to learn; choose with --label" in geco(capsys, *words, code=3)
    files(folder, age=age, a=lambda i: i % 2, b=lambda _: 1)
    said = geco(capsys, *words, "--label", "a", "b")
    assert "warning: every b is 1, there is nothing to learn in it; leave it out: --ignore b" in said


def test_weights_that_cancel_are_refused_with_what_to_do(capsys: Capture, tmp_path: Path) -> None:
    edges = ["source,target,weight", *(f"n{i},n{(i + 1) % NODES},{-2 if i == 5 else 1}" for i in range(NODES))]
    folder = files(tmp_path / "in", edges=edges, age=age, label=kind)
    geco(capsys, "data", "import", folder, "--name", "mine")
    words = ("train", "mine", *QUICK, "--out", tmp_path / "r")
    assert "(--model.adjacency none)" in geco(capsys, *words, code=2)
    assert "make weights positive" in geco(capsys, *words, "--model.name", "gcn", code=2)
    geco(capsys, *words, "--model.adjacency", "none")


def test_a_metric_without_a_value_is_refused_before_training(capsys: Capture, tmp_path: Path) -> None:
    part = ("train", "train", "valid", "test")
    columns = {"split": lambda i: part[i // 10], "label": lambda i: i % 2 if i < 30 else 1}
    folder = files(tmp_path / "in", age=age, **columns)
    geco(capsys, "data", "import", folder, "--name", "mine", "--metric", "auroc")
    said = geco(capsys, "train", "mine", *QUICK, "--out", tmp_path / "r", code=3)
    assert "mine: split 0, the test part: AUROC needs a label with at least one positive and one negative" in said
    assert "parameters" not in said, "nothing was begun"
    assert not (tmp_path / "r").exists()


def test_a_finished_run_keeps_its_result_if_it_cannot_go_on(capsys: Capture, tmp_path: Path) -> None:
    folder = files(tmp_path / "in", age=age, label=kind)
    trained(capsys, folder, tmp_path / "r")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "r" / "seed-0").glob("*.*")}
    geco(capsys, "data", "import", folder, "--name", "mine", "--replace", "--seed", "1")
    words = ("train", "mine", *QUICK, "--train.epochs", "4", "--out", tmp_path / "r", "--resume", "auto")
    assert "has changed since" in geco(capsys, *words, code=4)
    assert {path.name: path.read_bytes() for path in (tmp_path / "r" / "seed-0").glob("*.*")} == kept
    assert "result.json" in kept


@pytest.mark.parametrize(
    ("columns", "same"),
    [
        ({"label": kind, "hue": lambda i: "xyz"[i % 3], "age": age}, True),
        ({"age": age, "hue": lambda i: "xyz"[i % 3], "more": lambda i: i, "note": lambda i: f"note {i}"}, True),
        ({"age": age, "hue": lambda i: "xyz"[i % 3], "label": lambda i: "elk", "split": lambda i: "?"}, True),
        ({"hue": lambda i: "xyz"[i % 3]}, "no column 'age' among id, hue"),
        (
            {"age": age, "hue": lambda i: "xyzw"[i % 4]},
            "'w' is none of the values known (x, y, z); leave the cell empty",
        ),
        (
            {"age": lambda i: "old" if i == 3 else 2, "hue": lambda i: "x"},
            "line 5, column age: 'old' is not a number; fix",
        ),
    ],
    ids=["another order", "more columns", "labels and splits never seen", "fewer columns", "a new value", "no number"],
)
def test_new_files_are_read_by_the_names_of_their_columns(
    capsys: Capture, tmp_path: Path, columns: dict[str, Cells], same: bool | str
) -> None:
    part = ("train", "train", "valid", "test")
    folder = files(tmp_path / "in", age=age, hue=lambda i: "xyz"[i % 3], label=kind, split=lambda i: part[i // 10])
    trained(capsys, folder, tmp_path / "r")
    words = ("predict", tmp_path / "r", "-o", tmp_path / "out.csv", "--data")
    geco(capsys, *words, folder)
    before = (tmp_path / "out.csv").read_text()
    said = geco(capsys, *words, files(tmp_path / "new", **columns), code=0 if same is True else 3)
    assert (tmp_path / "out.csv").read_text() == before
    assert same is True or same in said


@pytest.mark.parametrize(
    ("label", "flags", "said"),
    [
        (lambda i: i % 25, [], "25 different numbers are taken as classes; if they are values, give --task values"),
        (lambda i: i % 25, ["--task", "values"], ""),
        (lambda i: i % 15, [], ""),
        (
            lambda i: f"{1_700_000_000.5 + 100 * i}",
            [],
            "label is about 1.700002e+09 and differs little; 32-bit numbers",
        ),
        (lambda i: f"{1_700_000_000.5 + 1e6 * i}", [], ""),
    ],
)
def test_numbers_that_are_not_what_they_seem(
    capsys: Capture, tmp_path: Path, label: Cells, flags: list[str], said: str
) -> None:
    folder = files(tmp_path / "in", age=age, label=label)
    shown = geco(capsys, "data", "import", folder, "--name", "mine", *flags)
    assert shown.count("warning") == bool(said)
    assert said in shown


@pytest.mark.parametrize(("step", "warned"), [(1, True), (1_000_000, False)])
def test_features_that_32_bits_round_are_named(capsys: Capture, tmp_path: Path, step: int, warned: bool) -> None:
    folder = files(tmp_path / "in", stamp=lambda i: f"{20_000_000_000 + step * i}", label=lambda i: "ab"[i % 2])
    shown = geco(capsys, "data", "import", folder, "--name", "mine")
    assert ("stamp is about 2e+10 and differs little; 32-bit numbers round it: subtract 2e+10" in shown) == warned


def test_repeated_molecules_are_counted(capsys: Capture, tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    (tmp_path / "m.csv").write_text("\n".join(["smiles,mass", *(f"{'C' * (1 + i % 8)},{i}.5" for i in range(10))]))
    said = geco(capsys, "data", "import", tmp_path / "m.csv", "--name", "mine")
    assert "warning: 2 rows repeat the SMILES of another; training and test may share them" in said
