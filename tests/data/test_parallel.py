from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from geco.data.parallel import in_order, processors
from geco.errors import ResourceError

ORPHANS = """
import os, sys, time
from geco.data.parallel import in_order

def work(i):
    os.write(1, f"{os.getpid()}\\n".encode())  # in one piece: print may write the number and the line's end apart
    time.sleep(60)

if __name__ == "__main__":
    list(in_order(work, [(i,) for i in range(2)], 2))
"""


def delayed(value: int) -> tuple[int, int]:
    time.sleep(0.01 * (value % 3))
    return value, os.getpid()


def suicide(value: int) -> int:
    if value == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def threads(_: int) -> list[int]:
    from threadpoolctl import threadpool_info

    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("workers", [0, 1, 3, 100])
def test_results_come_in_order(workers: int) -> None:
    found = list(in_order(delayed, [(i,) for i in range(40)], workers))
    assert [value for value, _ in found] == list(range(40))
    assert (os.getpid() in {pid for _, pid in found}) == (workers == 0)


def test_no_tasks() -> None:
    assert list(in_order(delayed, [], 2)) == []


@pytest.mark.parametrize("workers", [0, 2])
def test_one_blas_thread(workers: int) -> None:
    assert all(set(found) == {1} for found in in_order(threads, [(0,), (1,)], workers))


def test_a_killed_worker_is_said() -> None:
    with pytest.raises(ResourceError, match="killed"):
        list(in_order(suicide, [(i,) for i in range(8)], 2))


def test_an_error_in_a_worker_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_order(divmod, [(1, 0)], 1))


def test_processors() -> None:
    assert 1 <= processors() <= (os.cpu_count() or 1)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes by number")
def test_workers_end_with_a_killed_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        parent.kill()
    deadline = time.monotonic() + 20
    while any(_alive(pid) for pid in workers):
        assert time.monotonic() < deadline, "workers outlive their parent"
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
