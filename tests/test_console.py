"""What is logged and who sees it: nobody, unless a program asks for it; then each line once, as it is."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from geco.cli.main import main
from geco.console import show_log

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


def test_the_command_line_shows_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geco.cli.main._run", lambda words: LOGGER.info("downloading"))
    main(["data", "list"])
    assert capsys.readouterr().err == "downloading\n"
