"""What is logged and who sees it: nobody, unless a program asks for it; then each line once, as it is."""

from __future__ import annotations

import gzip
import io
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from geco.cli.main import main
from geco.console import Bar, Meter, show_log
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


LINE = {"epoch": 1, "loss": 0.5, "valid": 0.25}


@pytest.mark.parametrize("where", ["terminal", "notebook", "elsewhere"])
def test_a_training_shows_a_bar_to_people_only(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal() if where == "terminal" else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    if where == "notebook":
        shell = SimpleNamespace(config={"IPKernelApp": {}})
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with Bar("seed 0", total=2) as bar:
        bar.bar.mininterval = 0.0  # show each line at once
        bar.show(LINE)
        bar.show({**LINE, "epoch": 2})
    shown = screen.getvalue()
    assert ("seed 0" in shown) == (where != "elsewhere")
    assert shown == "" or ("2/2" in shown and "loss 0.5000  valid 0.2500" in shown)


def test_commands_say_a_line_now_and_then_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Meter, "SECONDS", -1.0)
    with Meter("seed 0", total=2) as meter:
        meter.show(LINE)
    assert capsys.readouterr().err == "seed 0  epoch 1/2  loss 0.5000  valid 0.2500\n"
