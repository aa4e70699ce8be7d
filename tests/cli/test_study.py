from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import geco.studies.variants
from geco.cli.main import main
from geco.studies.claims.catalogue import MEASUREMENTS, RECORDS, STUDIES, Measured
from tests.cli.conftest import Run


def test_the_list_has_every_study_and_measurement(run: Run) -> None:
    told = run("study", "list")
    for name, entry in STUDIES.items():
        assert f"\n  {name}\n    {entry.question}\n" in told
        assert entry.default in told
    for name, entry in MEASUREMENTS.items():
        assert f"\n  {name} {entry.takes}".rstrip() in told
        assert f"  {entry.question}\n" in told


def test_the_list_needs_no_torch() -> None:
    code = (
        "import sys; from geco.cli.main import main\nmain(['study', 'list'])\n"
        "assert not {'torch', 'scipy', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("scalling", "did you mean `geco study scaling`?"),
        ("lst", "did you mean `geco study list`?"),
        ("zzzzzz", "`geco study list` shows all"),
        ("--quick step", "step is a measurement with options of its own, which follow it: geco study step ..."),
        ("stepp", "did you mean `geco study step`?"),
        ("step --out", "--out needs a folder"),
        ("lengths --nodes 3", "lengths takes no options but --out, got --nodes 3"),
        ("scaling --quick --full", "exclude each other"),
        ("scaling --quick --seeds 0", "two or more different numbers"),
        ("", "NAME"),
    ],
)
def test_wrong_words_are_refused_in_a_line(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["study", *words.split()])
    lines = capsys.readouterr().err.splitlines()
    assert (end.value.code, len(lines)) == (2, 1)
    assert message in lines[0]
    assert not list(tmp_path.iterdir())


def test_a_damaged_record_is_exit_code_two_and_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "record.json").write_text('{"study": "scal')
    with pytest.raises(SystemExit) as end:
        main(["study", "scaling", "--quick", "--out", str(tmp_path)])
    assert end.value.code == 2
    assert "damaged" in capsys.readouterr().err
    assert (tmp_path / "record.json").read_text() == '{"study": "scal'


def test_a_measurement_takes_its_own_options_and_is_recorded_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["batch", "--graphs", "2", "--channels", "4", "--heads", "2", "--repeats", "1", f"--out={tmp_path}"]
    main(["study", *words])
    first = capsys.readouterr()
    assert "padded attention" in first.out
    record = json.loads((tmp_path / "record.json").read_text())
    assert (record["study"], list(record["units"])) == ("batch", [" ".join(words[:-1])])
    assert record["commands"] == ["geco study " + " ".join(words[:-1])]
    unit = record["units"][" ".join(words[:-1])]
    assert unit["result"]["printed"] == first.out
    assert unit["result"]["results"]["random"]["attention"]["held"] > 0
    assert unit["facts"]["command"] == "python -m geco.studies." + " ".join(words[:-1])
    assert {"commit", "torch", "seconds"} <= set(unit)
    page = (tmp_path / "page.html").read_text()
    assert "How long does the global block take" in page
    assert "padded attention" in page
    main(["study", *words])
    again = capsys.readouterr()
    assert again.out == first.out  # to the digit: nothing is measured twice
    assert "in the record" in again.err


PROGRAM = """
import argparse, sys
from pathlib import Path
parser = argparse.ArgumentParser()
parser.add_argument("--count", type=int, default=1)
parser.add_argument("--results", type=Path)
options = parser.parse_args()
options.results.mkdir(exist_ok=True)
kept = options.results / "kept"
kept.write_text((kept.read_text() if kept.exists() else "") + "x" * options.count)
print("counted", kept.read_text())
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A measurement that keeps records of its own, and the words that run it."""
    (tmp_path / "toy_measurement.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setitem(MEASUREMENTS, "toy", Measured("toy_measurement", "How many?", writes=RECORDS))
    return ["study", "toy", "--out", str(tmp_path / "out")]


def test_what_keeps_its_own_records_is_asked_again(toy: list[str], run: Run) -> None:
    assert run(*toy) == "counted x\n"
    assert run(*toy) == "counted xx\n"
    assert run(*toy, "--count", "2") == "counted xxxx\n"
    record = json.loads((Path(toy[-1]) / "record.json").read_text())
    assert {key: unit["result"] for key, unit in record["units"].items()} == {
        "toy": {"printed": "counted xx\n"}, "toy --count 2": {"printed": "counted xxxx\n"},
    }  # fmt: skip
    assert "counted xxxx" in (Path(toy[-1]) / "page.html").read_text()


def test_a_measurement_that_fails_is_not_recorded(toy: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*toy, "--count", "many"])
    assert end.value.code == 2
    assert "`python -m toy_measurement --count many" in capsys.readouterr().err.splitlines()[-1]
    assert not (Path(toy[-1]) / "record.json").exists()


def test_the_help_of_a_measurement_is_its_own(toy: list[str], run: Run) -> None:
    assert "--count COUNT" in run(*toy, "--help")
    assert not Path(toy[-1]).exists()


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_every_measurement_is_a_program_that_takes_what_it_is_given(name: str) -> None:
    entry = MEASUREMENTS[name]
    text = (Path(__file__).parents[2] / "src" / f"{entry.module.replace('.', '/')}.py").read_text()
    text += (Path(geco.studies.variants.__file__)).read_text() if "geco.studies.variants" in text else ""
    assert 'if __name__ == "__main__"' in text
    assert not entry.writes[0] or f'"{entry.writes[0]}"' in text
    assert entry.options == ("ArgumentParser" in text)
