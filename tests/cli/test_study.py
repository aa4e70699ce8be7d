from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from geco.cli.main import main
from geco.studies.claims.catalogue import MEASUREMENTS, STUDIES
from tests.cli.conftest import Run

SOURCE = Path(__file__).parents[2] / "src" / "geco" / "studies"


def test_the_list_has_every_study_and_measurement(run: Run) -> None:
    told = run("study", "list")
    for name, entry in STUDIES.items():
        assert f"\n  {name}\n    {entry.question}\n" in told
        assert entry.default in told
    for name, question in MEASUREMENTS.items():
        assert question in told
        assert 'if __name__ == "__main__"' in (SOURCE / f"{name}.py").read_text()


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
        ("step", "python -m geco.studies.step"),
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
