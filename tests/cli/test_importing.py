"""``geco data import`` and ``geco data remove`` as a user types them: what is refused, and when; nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from geco.cli.main import main
from geco.data.user.stored import stored
from tests.cli.conftest import Run

Files = Path


@pytest.fixture
def files(tmp_path: Path) -> Files:
    folder = tmp_path / "pets"
    folder.mkdir()
    rows = [f"n{i},{i % 5},{i % 2},{'abcd'[i % 4]}" for i in range(24)]
    (folder / "nodes.csv").write_text("\n".join(["id,age,tall,label", *rows]))
    (folder / "edges.csv").write_text("\n".join(["source,target", *(f"n{i},n{i + 1}" for i in range(23))]))
    return folder


def refused(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> list[str]:
    """The command is refused, with this exit code and these lines, and prints no result."""
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert end.value.code == code
    shown = capsys.readouterr()
    assert shown.out == "" or code == 2
    return shown.err.splitlines()


def edges_of(name: str) -> int:
    found = stored(name)
    assert found is not None
    return found.num_edges


def test_a_metric_that_works(run: Run, files: Files) -> None:
    run("data", "import", str(files), "--name", "pets", "--label", "tall", "--metric", "auroc")
    found = stored("pets")
    assert found is not None
    assert found.info.metric == "auroc"


def test_remove(run: Run, capsys: pytest.CaptureFixture[str], files: Files, tmp_path: Path) -> None:
    for name in ("pets", "pets-old"):
        run("data", "import", str(files), "--name", name)
        run("data", "prepare", name, "--encodings", "degree", "--workers", "0")
    assert run("data", "remove", "pets").count("removed ") == 2  # itself and the encoding
    assert stored("pets") is None
    assert "pets-old" in run("data", "list")
    assert sorted(path.name[:-21] for path in (tmp_path / "cache").glob("[!.]*-*")) == ["pets-old-degree"]
    for name, code, said in (
        ("pets", 3, "you have no data set called 'pets'; did you mean pets-old?"),
        ("cora", 2, "cora comes with GECO and was not imported"),
        ("digits", 2, "digits comes with GECO"),
        ("quite-other", 3, "you have pets-old"),
    ):
        (line,) = refused(capsys, code, "data", "remove", name)
        assert said in line
    run("data", "import", str(files), "--name", "pets")  # the name is free again


def test_a_damaged_data_set_can_be_removed(run: Run, files: Files, tmp_path: Path) -> None:
    run("data", "import", str(files), "--name", "pets")
    next((tmp_path / "cache" / "own").glob("pets-*/data.safetensors")).write_bytes(b"")
    run("data", "remove", "pets")
    assert stored("pets") is None


@pytest.mark.parametrize("text", ["\x1c", "\x1f", "\x1c\n\x1c\n"])
@pytest.mark.parametrize("name", ["nodes.csv", "edges.csv"])
def test_a_single_control_character(capsys: pytest.CaptureFixture[str], files: Files, name: str, text: str) -> None:
    (files / name).write_text(text)
    (line,) = refused(capsys, 3, "data", "import", str(files), "--dry-run")
    assert f"{files / name}, line 1: the names of columns are wanted" in line


def test_every_problem_has_a_line(capsys: pytest.CaptureFixture[str], files: Files) -> None:
    text = (files / "nodes.csv").read_text().replace("n3,3", "n3,three").replace("n5,0", "n4,0")
    (files / "nodes.csv").write_text(text)
    lines = refused(capsys, 3, "data", "import", str(files), "--name", "pets")
    places = ["nodes.csv, line 7, column id", "edges.csv, line 6, column target", "nodes.csv, line 5, column age"]
    for place in places:
        assert any(line.startswith(f"geco: error: {files}/{place}: ") for line in lines), place
    assert stored("pets") is None
