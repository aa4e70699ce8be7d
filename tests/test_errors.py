"""One family of errors: GecoErrors. Wrong input is a ValueError too; a stop and a lack of memory are not."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest

from geco import errors

SOURCE = Path(errors.__file__).parent
RAISED = [getattr(errors, name) for name in errors.__all__ if name != "GecoError"]
WRONG = [errors.UsageError, errors.DataError, errors.DataErrors, errors.CheckpointError, errors.NumericalError]


def made(kind: type[errors.GecoError]) -> errors.GecoError:
    return errors.DataErrors(["what was wrong"]) if kind is errors.DataErrors else kind("what was wrong")


@pytest.mark.parametrize("kind", RAISED)
def test_one_family(kind: type[errors.GecoError]) -> None:
    assert issubclass(kind, errors.GecoError)
    assert issubclass(kind, ValueError) == (kind in WRONG)
    again = pickle.loads(pickle.dumps(made(kind)))  # from a worker process
    assert (type(again), str(again)) == (kind, "what was wrong")


def test_exit_codes_are_documented_and_different() -> None:
    codes = {kind.exit_code for kind in RAISED}
    assert sorted(codes) == [2, 3, 4, 5, 6, 143]


def test_a_stop_is_no_failure_of_the_machine_either() -> None:
    assert not issubclass(errors.Interrupted, RuntimeError | OSError)


def test_errors_say_which_they_are() -> None:
    for path in SOURCE.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        raised = [ast.unparse(node.exc) for node in nodes if isinstance(node, ast.Raise) and node.exc]
        assert not any(error.startswith("GecoError") for error in raised), f"{path}: raise UsageError"
