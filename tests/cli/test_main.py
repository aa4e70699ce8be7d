from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from geco import __version__
from geco.cli import main as module
from geco.cli.main import COMMANDS, GROUPS, main
from geco.data.registry import DATASETS
from geco.errors import DataError, Interrupted, ResourceError, UsageError


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "geco", *words]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Exit code and the one line of an error."""
    with pytest.raises(SystemExit) as end:
        main(list(words))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("geco: error: ")
    assert isinstance(end.value.code, int)
    return end.value.code, lines[0]


@pytest.mark.parametrize(
    "words",
    [
        *([], ["--help"], ["train", "--help"], ["data"], ["data", "--help"], ["data", "list"]),
        *(["data", "list", "--help"], ["data", "prepare", "--help"]),
    ],
)
def test_quick_commands_do_not_load_torch(words: list[str], tmp_path: Path) -> None:
    code = (
        "import sys; from geco.cli.main import main\n"
        f"try: main({words!r})\nexcept SystemExit as end: assert not end.code\n"
        "assert not {'torch', 'scipy', 'pandas'} & set(sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "GECO_CACHE": str(tmp_path)}
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    everything = capsys.readouterr().out
    assert all(f"geco {name} " in everything and about in everything for name, (_, about) in COMMANDS.items())
    for group in GROUPS:
        main([group, "-h"])
        assert all(
            f"geco {name} " in capsys.readouterr().out
            for name in [name for name in COMMANDS if name.startswith(group)][:1]
        )


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert capsys.readouterr().out == f"geco {__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("dta list", "did you mean `geco data list`?"),
        ("data inof cora", "did you mean `geco data info`?"),
        ("dta zzz", "did you mean `geco data`?"),
        ("trian cora --seeds 0", "did you mean `geco train`?"),
        ("zzz", "`geco --help` shows them all"),
        ("data zzz", "`geco data --help` shows them all"),
        ("data list --cache-dri x", "--cache-dir"),
        ("data list surplus", "surplus"),
        ("data info", "NAME"),
        ("data info cora --html", "--html"),
        ("data prepare cora --workers many", "'many'"),
        ("data prepare cora --workers -1", "-1"),
        ("data prepare cora --encodings lappe", "did you mean lap-pe?"),
        ("data prepare cora --encodings lap-pe:x", "got 'lap-pe:x'"),
        ("data prepare", "name at least one data set"),
    ],
)
def test_usage_errors_are_one_line_and_two(capsys: pytest.CaptureFixture[str], words: str, message: str) -> None:
    code, line = failed(capsys, *words.split())
    assert code == 2
    assert message in line
    assert not set(line) & set("│─╭╰")
    assert "---" not in line


def test_usage_errors_are_the_same_whatever_a_terminal_can_draw() -> None:
    found = [run("data", "prepare", "--workers", "many", PYTHONIOENCODING=name).stderr for name in ("utf-8", "ascii")]
    assert found[0] == found[1]
    assert found[0].startswith("geco: error: Error parsing --workers: ")
    assert found[0].endswith("; For full helptext, see geco data prepare --help\n")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (DataError("the file\n is bad"), 3, "the file is bad"),
        (ResourceError("disk full"), 6, "disk full"),
        (UsageError("--x must be 1"), 2, "--x must be 1"),
        (Interrupted("stopped after\nbatch 3"), 143, "stopped after batch 3"),
        (ValueError("order must be 1 or more"), 2, "order must be 1 or more"),
        (PermissionError(13, "Permission denied", "/x"), 6, "Permission denied: /x"),
        (MemoryError(), 6, f"out of memory; {module.MEMORY}"),
        (
            RuntimeError("can't allocate memory: 8 bytes\nat x.cpp"),
            6,
            f"out of memory (can't allocate memory: 8 bytes); {module.MEMORY}",
        ),
        (KeyError("x"), 1, "KeyError: 'x'; this should not happen, --debug shows where"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_have_their_codes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(module, "_run", fail)
    assert failed(capsys, "any") == (code, f"geco: error: {message}")


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["data", "info", "cora", "--html", str(tmp_path), "--debug"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["info", "prepare"])
def test_a_name_that_is_not_known_is_a_data_error(command: str, tmp_path: Path) -> None:
    found = run("data", command, "coar", GECO_CACHE=str(tmp_path))
    assert (found.returncode, found.stdout) == (3, "")
    assert found.stderr.startswith("geco: error: no data set is called 'coar'; did you mean cora")
    assert found.stderr.count("\n") == 1


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    command = f"{sys.executable} -m geco data list | head -1"
    found = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env={**os.environ, "GECO_CACHE": str(tmp_path)}
    )
    assert found.stderr == ""
    assert found.stdout.startswith("name")


def test_a_terminal_without_our_characters(tmp_path: Path) -> None:
    found = run("data", "list", GECO_CACHE=str(tmp_path), PYTHONIOENCODING="ascii")
    assert found.returncode == 0
    assert all(name in found.stdout for name in DATASETS)


@pytest.mark.parametrize("place", ["main._run", "tyro.cli"])
def test_termination_is_143(place: str) -> None:
    """Also while flags are read, when what goes to standard error is kept back."""
    code = (
        "import os, time, tyro; from geco.cli import main\n"
        f"{place} = lambda *_, **__: (os.write(1, b'started\\n'), time.sleep(60))\nmain.main(['data', 'list'])"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    start = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, message = process.communicate(timeout=20)
    assert process.returncode == 143
    assert message == "geco: error: terminated\n"
    assert time.monotonic() - start < 10
