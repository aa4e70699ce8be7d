"""What processes tell each other arrives, whatever its size, and no silence lasts longer than was asked for."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest
import torch

from geco.distributed.runtime import ALONE, Workers, joined
from geco.errors import ResourceError, UsageError
from geco.store import Entry
from tests.distributed.processes import GONE, together

pytestmark = pytest.mark.dist
ENTRY = Entry({"a/b": torch.arange(5), "none": torch.empty(0, 3), "one": torch.tensor(0.5)}, {"state": {"epoch": 3}})


def tell(workers: Workers) -> None:
    rank, size = workers.rank, workers.size
    assert workers.each({"rank": rank, "text": "x" * 10 * rank}) == [
        {"rank": other, "text": "x" * 10 * other} for other in range(size)
    ]
    found, none = workers.told([0.1, float("nan")] if rank == 0 else None)
    assert (found, none != none) == (0.1, True)
    assert workers.told(None if rank == 0 else 5) is None
    assert [workers.any(rank == size - 1), workers.any(False)] == [True, False]
    assert workers.total(torch.tensor([1.0, rank])).tolist() == [size, sum(range(size))]
    workers.counted = rank != 1
    assert workers.part(2) == (0.0 if rank == 1 else 1 / (size - 1))


def deal(workers: Workers) -> None:
    for count in (0, 1, 4):  # fewer than processes, and more
        whole = [
            torch.full((number, 2), number, dtype=torch.int64 if number % 2 else torch.float32)
            for number in range(count)
        ]
        found = workers.dealt(whole[workers.rank :: workers.size])
        assert len(found) == count
        for a, b in zip(found, whole, strict=True):
            assert a.dtype == b.dtype
            assert torch.equal(a, b)


def read(workers: Workers) -> None:
    found = workers.entry(lambda: ENTRY if workers.first else pytest.fail("only the first one reads"))
    assert found is not None
    assert found.about == ENTRY.about
    assert [*found.arrays] == [*ENTRY.arrays]
    for name, value in ENTRY.arrays.items():
        assert torch.equal(found.arrays[name], value)
        assert found.arrays[name].dtype == value.dtype
    assert workers.entry(lambda: None) is None


def test_what_is_told_arrives() -> None:
    def work(workers: Workers) -> None:
        for part in (tell, deal, read):
            part(workers)

    found = together(3, work)
    assert [code for code, _ in found] == [0, 0, 0], found


def test_alone_nothing_is_sent() -> None:
    part = [torch.ones(1)]
    assert ALONE.dealt(part) is part
    assert ALONE.entry(lambda: ENTRY) is ENTRY
    assert ALONE.gathered(torch.ones(2)).shape == (1, 2)
    assert not torch.distributed.is_initialized()


def test_a_killed_process_is_noticed_at_once() -> None:
    def work(workers: Workers) -> None:
        if workers.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        workers.each("here")

    begin = time.monotonic()
    found = together(3, work)
    assert time.monotonic() - begin < 60  # the usual time-out is minutes
    assert [code for code, _ in found] == [ResourceError.exit_code, -signal.SIGKILL, ResourceError.exit_code]
    assert re.search(GONE, found[0][1])


def test_a_process_that_hangs_is_waited_for_as_long_as_asked() -> None:
    def work(workers: Workers) -> None:
        if workers.rank == 1:
            time.sleep(6)
            os._exit(0)
        workers.each("here")

    begin = time.monotonic()
    (code, text), _ = together(2, work, patience=2.0)
    assert time.monotonic() - begin < 60  # the usual time-out is minutes
    assert code == ResourceError.exit_code
    assert "the other processes did not answer within 2 s" in text


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(timeout: float) -> None:
    with pytest.raises(UsageError, match="--timeout must be a number of seconds above 0"), joined(0, 1, timeout):
        pass
