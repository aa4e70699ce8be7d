"""What is logged and who sees it: nobody, unless a program asks for it; then each line once, as it is."""

from __future__ import annotations

import gzip
import io
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from geco.cli.main import main
from geco.console import show_log
from geco.data.safe.readers import read_csv

LOGGER = logging.getLogger("geco.data.cache")


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING, logging.ERROR])
def test_a_library_is_quiet(level: int) -> None:
    code = f"import logging, geco.store; logging.getLogger('geco.store').log({level}, 'a line')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("", "")


def test_a_program_shows_each_line_once_and_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with show_log(), show_log():
        LOGGER.info("100% of it")
        LOGGER.warning("damaged")
        LOGGER.debug("of no interest")
    LOGGER.warning("afterwards")
    found = capsys.readouterr()
    assert (found.out, found.err) == ("", "100% of it\ndamaged\n")
    assert logging.getLogger("geco").level == logging.NOTSET


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_reading_a_large_file_shows_how_far_it_is(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geco.console.PATIENCE", 0)
    text = "number\n" + "".join(f"{i}\n" for i in range(10_000))
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert len(read_csv(tmp_path / name, header=0)) == 10_000
        assert (f"reading {name}" in stream.getvalue()) == shown


def test_the_command_line_shows_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geco.cli.main._run", lambda words: LOGGER.info("downloading"))
    main(["data", "list"])
    assert capsys.readouterr().err == "downloading\n"
