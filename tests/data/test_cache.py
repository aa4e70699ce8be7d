"""A cache that survives what happens to processes and disks. Never a wrong result, never manual cleaning."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import Tensor

from geco.data.cache import Cache
from geco.errors import ResourceError
from geco.store import Entry

RECIPE = {"size": 50_000}


def wanted() -> dict[str, Tensor]:
    return {"x": torch.arange(50_000), "half": torch.ones(7, 3, dtype=torch.float16), "none": torch.empty(0, 4)}


def build() -> Entry:
    return Entry(wanted(), {"made": "by a test"})


def same(entry: Entry) -> bool:
    return entry.arrays.keys() == wanted().keys() and all(torch.equal(entry.arrays[k], v) for k, v in wanted().items())


def count_builds(folder: Path) -> int:
    calls = []

    def counted() -> Entry:
        calls.append(1)
        return build()

    assert same(Cache(folder).fetch("t", RECIPE, counted))
    return len(calls)


def test_built_once(tmp_path: Path) -> None:
    assert [count_builds(tmp_path) for _ in range(3)] == [1, 0, 0]
    assert Cache(tmp_path).fetch("t", RECIPE, build).about == {"made": "by a test"}
    assert not list(tmp_path.glob(".*.part"))


def test_another_recipe_is_another_entry(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.fetch("t", {"k": 1}, lambda: Entry({"x": torch.zeros(1)}, {}))
    assert cache.fetch("t", {"k": 2}, lambda: Entry({"x": torch.ones(1)}, {})).arrays["x"].item() == 1


def test_put_replaces_and_get_finds(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.get("t", {}) is None
    for value in (1.0, 2.0):
        cache.put("t", {}, Entry({"x": torch.tensor(value)}, {"value": value}))
        found = cache.get("t", {})
        assert found is not None
        assert found.about == {"value": value}
        assert found.arrays["x"].item() == value
    assert len([p for p in tmp_path.iterdir() if p.is_dir()]) == 1


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


DAMAGE = {
    "flipped bit": lambda p: flip(p / "data.safetensors"),
    "truncated": lambda p: os.truncate(p / "data.safetensors", 1000),
    "empty": lambda p: os.truncate(p / "data.safetensors", 0),
    "data gone": lambda p: (p / "data.safetensors").unlink(),
    "manifest gone": lambda p: (p / "manifest.json").unlink(),
    "manifest empty": lambda p: os.truncate(p / "manifest.json", 0),
    "manifest of another kind": lambda p: (p / "manifest.json").write_text("[]"),
    "manifest without a sum": lambda p: (p / "manifest.json").write_text(json.dumps({"about": {}})),
    "a file in its place": lambda p: (os.rename(p, p.with_name("away")), p.write_text("x")),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_heals_itself_and_says_so(what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    count_builds(tmp_path)
    DAMAGE[what](Cache(tmp_path).path("t", RECIPE))
    assert count_builds(tmp_path) == 1
    assert "building it again" in caplog.text
    assert count_builds(tmp_path) == 0


def test_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> Entry:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        Cache(tmp_path).fetch("t", RECIPE, fail)
    assert not [p for p in tmp_path.iterdir() if p.is_dir()]
    assert count_builds(tmp_path) == 1


def test_folder_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_builds(tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr("geco.data.cache.tempfile.NamedTemporaryFile", refuse)
    assert count_builds(tmp_path) == 0  # what is there is used
    with pytest.raises(ResourceError, match=r"cannot write to the cache .*Read-only file system.*GECO_CACHE"):
        Cache(tmp_path).fetch("t", {"other": 1}, lambda: pytest.fail("the work was started"))


def limited(folder: Path) -> str:
    """In a process that may not write files over 64 KiB, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16))
    try:
        Cache(folder).fetch("t", RECIPE, build)
    except ResourceError as error:
        return str(error)
    return "no error"


def test_full_disk(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        message = pool.apply(limited, (tmp_path,))
    assert "could not write" in message
    assert "MiB free" in message
    assert not [p for p in tmp_path.iterdir() if p.is_dir()], "something half-written was left"
    assert count_builds(tmp_path) == 1


SCRIPT = """
import sys, time, pathlib
sys.path.insert(0, sys.argv[2])
from test_cache import *
def slow():
    time.sleep(0.05)
    pathlib.Path(sys.argv[1], f"built-{os.getpid()}").touch()
    return build()
print("ready", flush=True)
sys.stdin.readline()
assert same(Cache(pathlib.Path(sys.argv[1])).fetch("t", RECIPE, slow))
"""


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(folder), str(Path(__file__).parent)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def finish(process: subprocess.Popen[str]) -> int:
    with process:
        return process.wait(60)


@pytest.mark.slow
def test_four_processes_build_once(tmp_path: Path) -> None:
    processes = [start(tmp_path) for _ in range(4)]
    for process in processes:
        go(process)
    assert [finish(process) for process in processes] == [0] * 4
    assert len(list(tmp_path.glob("built-*"))) == 1


@pytest.mark.slow
def test_killed_at_any_moment(tmp_path: Path) -> None:
    moments = random.Random(0)
    for _ in range(20):
        for old in tmp_path.glob("t-*"):
            old.rename(tmp_path / f"old-{time.time_ns()}")
        process = start(tmp_path)
        go(process)
        time.sleep(moments.uniform(0, 0.12))
        process.kill()
        finish(process)
        assert same(Cache(tmp_path).fetch("t", RECIPE, build))
        assert not list(tmp_path.glob(".t-*.part"))
