"""``geco COMMAND ...``: finds the command, reads its flags, runs it, and turns what went wrong into one line and an
exit code.

Only the module of the command that was asked for is imported, so help and usage errors never wait for torch.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import io
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from geco import __version__
from geco.console import show_log
from geco.errors import DataErrors, GecoError, ResourceError, UsageError
from geco.machine import STOPS

__all__ = ["COMMANDS", "explained", "main"]

# Command: the module and function behind it, whose signature gives its flags, and what it does.
COMMANDS: dict[str, tuple[str, str]] = {
    "train": ("geco.cli.train:train", "train GECO or a baseline on a data set"),
    "tune": ("geco.cli.tune:tune", "find settings by many trials, judged by validation alone"),
    "eval": ("geco.cli.use:evaluate", "score a trained network on its data set"),
    "predict": ("geco.cli.use:predict", "predict for new files with a trained network"),
    "explain": ("geco.cli.explain:explain", "why a trained network predicts what it does, node by node"),
    "report": ("geco.cli.report:report", "trainings as a page of curves and tables, or as a record"),
    "study": ("geco.cli.study:study", "check a claim of the paper on this machine, or measure it"),
    "study list": ("geco.cli.study:list_studies", "all studies: what each asks and how long it takes"),
    "plan": ("geco.cli.plan:plan", "what one large graph would take of each worker: memory, traffic, time"),
    "bench": ("geco.cli.env:bench", "how fast GECO is on this machine, beside others"),
    "env": ("geco.cli.env:env", "versions and machine, for a report of a problem"),
    "data list": ("geco.cli.data:list_datasets", "all data sets by name, and which are on this machine"),
    "data info": ("geco.cli.info:info", "count what a data set holds, beside the published numbers"),
    "data prepare": ("geco.cli.data:prepare", "read data sets and compute encodings, once, into the cache"),
    "data import": ("geco.cli.importing:import_files", "make a data set of your own files"),
    "data remove": ("geco.cli.data:remove_own", "remove a data set that you imported"),
}
GROUPS = {"data": "Data sets: list them, look at them, prepare them, import your own."}
MEMORY = "use fewer workers, smaller batches or a smaller network, or a machine with more memory"


def main(arguments: list[str] | None = None) -> None:
    """Run a command; leave by SystemExit if it did not end well.

    Args:
        arguments: words after ``geco``; those of the process if not given.

    Example:
        >>> main(["--version"])
        geco ...
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    before = {number: signal.signal(number, _terminated) for number in STOPS if number != signal.SIGINT}
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without our characters shows others, not a traceback
    try:
        with show_log():
            _run([word for word in words if word != "--debug"])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        _leave(["interrupted"], 128 + signal.SIGINT)
    except Exception as error:
        if debug:
            traceback.print_exc()
        line, code = explained(error)
        _leave(error.lines if isinstance(error, DataErrors) else [line], code)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(words: list[str]) -> None:
    if words == ["--version"]:
        print(f"geco {__version__}")
        return
    for count in (2, 1):
        command = " ".join(words[:count])
        if command in COMMANDS:
            return _parse(command, words[count:])()
    plain = [word for word in words if word not in ("-h", "--help")]
    if not plain or (len(plain) == 1 and plain[0] in GROUPS):
        return _help(" ".join(plain))
    raise UsageError(_unknown(plain))


def _unknown(words: list[str]) -> str:
    """Return the message about words that name no command: the nearest one, or where to look."""
    group = words[0] if words[0] in GROUPS else ""
    asked = " ".join(words[: 2 if group else 1])
    near = difflib.get_close_matches(" ".join(words[:2]), COMMANDS, 1, 0.7)
    near = near or ([] if group else difflib.get_close_matches(words[0], [*GROUPS, *COMMANDS], 1, 0.6))
    hint = f"did you mean `geco {near[0]}`?" if near else f"`geco {group}{' ' if group else ''}--help` shows them all"
    return f"no command is called {asked!r}; {hint}"


def _parse(command: str, words: list[str]) -> Callable[[], None]:
    """Return the command with its flags filled in; a wrong flag becomes a UsageError of one line."""
    module, _, name = COMMANDS[command][0].partition(":")
    home = importlib.import_module(module)
    handler = getattr(home, name)

    @functools.wraps(handler)
    def later(*args: Any, **options: Any) -> Callable[[], None]:
        return functools.partial(handler, *args, **options)

    if hasattr(home, "passes_on") and home.passes_on(words):  # to a program with flags of its own
        return functools.partial(home.pass_on, words)
    if hasattr(home, "read"):  # its flags go over configurations that other words name
        with _one_line():
            return functools.partial(handler, home.read(words))
    try:
        return _filled(later, command, words)
    except UsageError as error:
        for at, (word, after) in enumerate(pairwise(words)):  # --ignore a b PATH --name x: the flag took the path too
            if after.startswith("-") and Path(word).exists():
                with contextlib.suppress(UsageError):
                    return _filled(later, command, [word, *words[:at], *words[at + 1 :]])
        if str(error).startswith("Missing from"):
            raise UsageError(f"{error}; flags of several values take all words after them: write it first") from None
        raise


def _filled(later: Callable[..., Callable[[], None]], command: str, words: list[str]) -> Callable[[], None]:
    import tyro

    with _one_line():
        flags: dict[str, Any] = {"prog": f"geco {command}", "args": words, "config": [tyro.conf.FlagCreatePairsOff]}
        run: Callable[[], None] = tyro.cli(later, **flags)
        return run


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    """Turn tyro's message about wrong flags, a drawn box and an exit, into a UsageError."""
    message = io.StringIO()
    try:
        with contextlib.redirect_stderr(message):
            yield
    except SystemExit as end:
        if end.code != UsageError.exit_code:  # --help, or a signal
            raise
        raise UsageError(_unboxed(message.getvalue())) from None


def _unboxed(text: str) -> str:
    """Return the text of a box, drawn as the terminal can, without title and frame; rules inside become semicolons."""
    body = re.sub("[│╰╯]", " ", " ".join(text.splitlines()[1:]))
    parts = [" ".join(part.split()).rstrip(".:") for part in re.split("─{2,}|-{8,}", body)]
    return "; ".join(filter(None, parts))


def _help(group: str) -> None:
    chosen = {name: about for name, (_, about) in COMMANDS.items() if name.startswith(group)}
    width = max(map(len, chosen))
    print(f"usage: geco {group or 'COMMAND'} ...\n")
    print(GROUPS.get(group, "GECO: graph learning with global context, at any scale.") + "\n")
    for name, about in chosen.items():
        print(f"  geco {name:{width}}  {about}")
    print("\n`geco COMMAND --help` shows a command's flags. Everywhere: --debug shows where an error came from.")
    if not group:
        print("Exit codes: 0 done, 2 usage, 3 data, 4 checkpoint, 5 numbers, 6 resources, 143 stopped.")


def explained(error: BaseException) -> tuple[str, int]:
    """Return a line and an exit code for what went wrong."""
    if isinstance(error, GecoError):
        return str(error), error.exit_code
    if isinstance(error, ValueError):  # wrong input, as `geco.nn` refuses it
        return str(error), UsageError.exit_code
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", ResourceError.exit_code
    if isinstance(error, MemoryError) or _is_memory(error):
        why = str(error).partition("\n")[0]
        return f"out of memory{f' ({why})' if why else ''}; {MEMORY}", ResourceError.exit_code
    return f"{type(error).__name__}: {error}; this should not happen, --debug shows where", 1


def _is_memory(error: BaseException) -> bool:
    """Tell whether torch could not get memory; it has no type for this but on GPUs."""
    words = ("allocate memory", "bad_alloc", "memory allocation", "out of memory")
    return isinstance(error, RuntimeError) and any(word in str(error).lower() for word in words)


def _terminated(*_: object) -> NoReturn:
    os.write(2, b"geco: error: terminated\n")  # print is not safe in a handler, and may be redirected
    raise SystemExit(128 + signal.SIGTERM)


def _leave(lines: Sequence[str], code: int) -> NoReturn:
    for line in lines:
        print("geco: error:", *line.split(), file=sys.stderr, flush=True)
    raise SystemExit(code)
