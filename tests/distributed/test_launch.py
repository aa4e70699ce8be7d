"""Whatever becomes of one process, all end, and one line says whose fault it was."""

from __future__ import annotations

import logging
import multiprocessing
import os
import time
from pathlib import Path

import pytest

from geco.distributed.launch import Place, WorkerFailed, launch
from geco.errors import Interrupted
from tests.distributed.launch_work import TIMEOUT, explain, meet, save

pytestmark = pytest.mark.dist
FAULTS = {
    "killed": (6, "rank 1 was killed by SIGKILL, as systems do when memory runs out; what was saved is good"),
    "hangs": (6, "rank 1 hangs: no answer within 3 s; what was saved is good, go on with --resume auto"),
    "leaves": (6, "rank 1 ended with exit code 7; what was saved is good"),
    "memory": (6, "rank 1: no memory for 5 GB"),
    "data": (3, "mine is damaged"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_rank_and_reason(fault: str) -> None:
    code, line = FAULTS[fault]
    again = 2 if fault == "data" else 0  # which is not tried again
    with pytest.raises(WorkerFailed) as error:
        launch(meet, fault, 3 if fault == "hangs" else 2, timeout=TIMEOUT, restarts=again, explain=explain)
    assert error.value.exit_code == code
    assert str(error.value).startswith(line)
    assert not multiprocessing.active_children()


def test_started_again_after_one_was_killed(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "geco"):
        launch(meet, "killed", 2, timeout=TIMEOUT, restarts=2, explain=explain)
    assert [line.partition(";")[0] for line in caplog.messages] == [
        "rank 1 was killed by SIGKILL, as systems do when memory runs out"
    ]
    assert caplog.messages[0].endswith("all start again from the last checkpoint (1 of 2)")


def test_all_save_when_asked_to_stop(tmp_path: Path) -> None:
    begun = lambda: len([*tmp_path.glob("begun-*")]) == 2  # noqa: E731
    with pytest.raises(Interrupted, match="saved by rank 0"):
        launch(save, tmp_path, 2, timeout=TIMEOUT, stopped=begun, explain=explain)
    assert sorted(path.name for path in tmp_path.glob("saved-*")) == ["saved-0", "saved-1"]


def test_asked_to_stop_before_anything_was_begun(tmp_path: Path) -> None:
    begin = time.monotonic()
    with pytest.raises(Interrupted, match="stopped before anything was trained"):
        launch(save, tmp_path, 2, timeout=TIMEOUT, stopped=lambda: True, explain=explain)
    assert time.monotonic() - begin < 20
    assert not [*tmp_path.iterdir()]


def test_place_of_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Place.of_environment() is None
    for name, value in {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "there"}.items():
        monkeypatch.setitem(os.environ, name, value)
    assert Place.of_environment() == Place(5, 8, 1, "env://", 0)
    monkeypatch.setitem(os.environ, "WORLD_SIZE", "1")
    assert Place.of_environment() is None
