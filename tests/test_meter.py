"""What is seen of a training while it runs, on a terminal and elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from geco.meter import Meter, live_line

LINE = {"epoch": 3, "loss": 0.25, "valid": 0.5, "test": 0.4, "best": {"epoch": 2, "valid": 0.75, "test": 0.7}}


@pytest.mark.parametrize("width", range(0, 120, 7))
def test_a_live_line_never_wraps(width: int) -> None:
    assert len(live_line("seed 0", 3, 10, LINE, 65, width)) <= width


def test_what_matters_most_stays_longest() -> None:
    texts = [live_line("seed 0", 3, 10, LINE, 65, width) for width in (120, 80, 60, 40, 22)]
    assert texts[0] == "seed 0  epoch 3/10  1:05 left  loss 0.2500  valid 0.5000  best 0.7500 at 2  test 0.4000"
    assert "test" not in texts[1]
    assert "best 0.7500" in texts[2]
    assert texts[3] == "epoch 3/10  1:05 left  valid 0.5000"
    assert texts[4] == "epoch 3/10  1:05 left"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_time_left_is_that_of_the_epochs_of_now() -> None:
    clock = Clock()
    with Meter("seed 0", 10, start=4, clock=clock) as meter:
        assert meter.left is None
        clock.now += 2
        meter.show({"epoch": 5})
        assert meter.left == pytest.approx(10)


def test_time_left_is_known_right_after_a_resume() -> None:
    with Meter("seed 0", 10, start=4, pace=3.0) as meter:
        assert meter.left == 18


def test_elsewhere_lines_come_less_and_less_often(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Meter("seed 0", 10_000, clock=clock) as meter:
        for epoch in range(1, 7201):
            clock.now += 1
            meter.show({**LINE, "epoch": epoch})
    lines = capsys.readouterr().err.splitlines()
    assert 5 < len(lines) < 20  # of two hours
    assert lines[0] == "seed 0  epoch 16/10000  2:46:24 left  loss 0.2500  valid 0.5000  best 0.7500 at 2  test 0.4000"
    assert not any("\r" in line or "\x1b" in line for line in lines)


@pytest.fixture(params=[100, 30])
def terminal(request: pytest.FixtureRequest) -> Iterator[tuple[int, int, int]]:
    """A pseudo-terminal: both its ends and its width."""
    pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
    import fcntl
    import struct
    import termios

    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, request.param, 0, 0))
    yield reader, writer, request.param
    os.close(reader)


PROGRAM = """
import logging, os, signal, sys
sys.path[:0] = {path}
from geco.console import print_line, show_log
from geco.meter import Meter
with show_log(), Meter("seed 0", 4, start=1, pace=60.0) as meter:
    meter.pulse(1.5)
    meter.show({{"epoch": 2, "loss": 0.5, "valid": 0.25, "best": {{"epoch": 2, "valid": 0.25}}}})
    logging.getLogger("geco").warning("a word between")
    meter.show({{"epoch": 3, "loss": 0.25, "valid": 0.5, "best": {{"epoch": 3, "valid": 0.5}}}})
print_line("the end")
"""


def test_one_line_on_a_terminal_and_nothing_glued_to_it(terminal: tuple[int, int, int]) -> None:
    reader, writer, width = terminal
    program = PROGRAM.format(path=[str(Path(__file__).parent.parent / "src")])
    done = subprocess.run([sys.executable, "-c", program], stderr=writer, stdin=writer, check=False,
                          env={k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")})  # fmt: skip
    os.close(writer)
    assert done.returncode == 0
    text = _all_of(reader)
    screen = _screen(text, width)
    assert [line for line in screen if line] == ["a word between", "the end"], "the live line leaves nothing behind"
    assert "epoch 3/4" in text
    assert "3:00 left" in text, "time left right after a resume"
    assert ("best 0.5000 at 3" in text) == (width == 100)


def _all_of(reader: int) -> str:
    parts = []
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts).decode()


def _screen(text: str, width: int) -> list[str]:
    """Return what stands on a terminal that has shown all of a text."""
    rows, row, column = [[" "] * width], 0, 0
    for piece in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|.", text, re.DOTALL):
        if piece == "\r":
            column = 0
        elif piece == "\n":
            row += 1
        elif piece == "\x1b[K":
            rows[row][column:] = [" "] * (width - column)
        elif piece == "\x1b[A":
            row -= 1
        elif not piece.startswith("\x1b"):
            if column == width:
                row, column = row + 1, 0
            while row >= len(rows):
                rows.append([" "] * width)
            rows[row][column] = piece
            column += 1
        while row >= len(rows):
            rows.append([" "] * width)
    return ["".join(line).rstrip() for line in rows]
