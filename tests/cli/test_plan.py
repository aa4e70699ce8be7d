from __future__ import annotations

import subprocess
import sys

import pytest

from geco.cli.main import main
from tests.cli.conftest import Run

ASKED = ["--nodes", "111e6", "--edges", "1.6e9"]


def test_it_says_what_each_worker_takes_and_whether_it_fits(run: Run) -> None:
    told = run(
        "plan",
        *ASKED,
        "--hidden",
        "256",
        "--layers",
        "3",
        "--workers",
        "16",
        "--bandwidth",
        "200Gb",
        "--propagation",
        "halo",
    )
    assert "each of 16 workers: 6,937,500 nodes, 100,000,000 edges, 93,750,000 rows of others" in told
    for table in ("memory ", "sent in an epoch ", "operations in an epoch "):
        assert f"\n{table}" in told
    assert told.splitlines()[-1].startswith("does not fit: ")
    assert " workers would" in told.splitlines()[-1]


def test_one_worker_sends_nothing(run: Run) -> None:
    told = run("plan", "--nodes", "1e6", "--edges", "1e7", "--memory", "16GiB")
    assert "sent" not in told
    assert "to send" not in told
    assert told.splitlines()[-1].startswith("fits: ")


def test_it_says_that_fewer_or_none_would_do(run: Run) -> None:
    few = run("plan", "--nodes", "1e6", "--edges", "1e7", "--workers", "8")
    assert few.splitlines()[-1].endswith("; 1 would do")
    none = run("plan", *ASKED, "--filter", "paper", "--workers", "16")
    assert "no number of workers would do" in none.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--nodes 5", "--edges"),
        ("--nodes -5 --edges 5", "--nodes must be a whole number"),
        ("--nodes 5.5 --edges 5", "--nodes must be a whole number"),
        ("--nodes inf --edges 5", "--nodes must be a whole number"),
        ("--nodes 5 --edges 5 --workers 0", "--workers must be at least 1, got 0"),
        ("--nodes 5 --edges 5 --memory 80", "--memory must be a number with a unit, such as 80GB"),
        ("--nodes 5 --edges 5 --bandwidth 80Zb", "--bandwidth must be a number with a unit, such as 200Gb"),
        ("--nodes 5 --edges 5 --speed fast", "--speed must be a number with a unit, such as 10T"),
        ("--nodes 5 --edges 5 --filter foo", "--filter"),
        ("--nodes 5 --edges 5 --cut 2", "--cut is a share"),
    ],
)
def test_wrong_words_are_refused_in_a_line(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["plan", *words.split()])
    lines = capsys.readouterr().err.splitlines()
    assert (end.value.code, len(lines)) == (2, 1)
    assert message in lines[0]


def test_it_needs_no_torch() -> None:
    code = (
        "import sys; from geco.cli.main import main\nmain(['plan', '--nodes', '10', '--edges', '10'])\n"
        "assert not {'torch', 'scipy', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
