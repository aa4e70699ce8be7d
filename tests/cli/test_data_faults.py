"""`geco data prepare` as processes and disks fail: killed, four at once, damaged, full; never a wrong result."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from geco.store import read_entry

pytestmark = pytest.mark.slow
COMMAND = [
    sys.executable,
    "-m",
    "geco",
    "data",
    "prepare",
    "digits",
    "--encodings",
    "lap-pe:4",
    "rwse:4",
    "--workers",
    "1",
]


def start(cache: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "GECO_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(COMMAND, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    with process:
        out, err = process.communicate(timeout=200)
    return process.returncode, out, err


def entries(cache: Path) -> dict[str, dict[str, torch.Tensor]]:
    return {path.name: read_entry(path).arrays for path in cache.iterdir() if path.is_dir()}


def assert_same(cache: Path, clean: Path) -> None:
    found, wanted = entries(cache), entries(clean)
    assert found.keys() == wanted.keys()
    for name, arrays in wanted.items():
        assert found[name].keys() == arrays.keys()
        assert all(torch.equal(found[name][key], value) for key, value in arrays.items()), name


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("clean")
    code, _, err = finish(start(cache))
    assert code == 0, err
    return cache


@pytest.mark.timeout(1200)
def test_killed_at_twenty_moments(clean: Path, tmp_path: Path) -> None:
    begin = time.monotonic()
    finish(start(tmp_path / "timed"))
    length, moments = time.monotonic() - begin, random.Random(0)
    for turn in range(20):
        cache = tmp_path / f"{turn}"
        process = start(cache)
        time.sleep(moments.uniform(0.4, 1.0) * length)  # the first part is imports
        process.kill()
        finish(process)
        if turn % 4 == 0:
            code, _, err = finish(start(cache))
            assert code == 0, err
            assert_same(cache, clean)
            assert not list(cache.glob(".*.part"))
        else:  # whatever is there under its name is whole
            for name, arrays in entries(cache).items() if cache.is_dir() else []:
                assert all(torch.equal(arrays[key], value) for key, value in entries(clean)[name].items())


@pytest.mark.timeout(600)
def test_four_at_once(clean: Path, tmp_path: Path) -> None:
    results = [finish(process) for process in [start(tmp_path) for _ in range(4)]]
    assert [code for code, _, _ in results] == [0] * 4, results
    assert_same(tmp_path, clean)


@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty"])
def test_damaged_entries_are_built_anew(damage: str, clean: Path, tmp_path: Path) -> None:
    finish(start(tmp_path))
    for path in tmp_path.glob("*/data.safetensors"):
        raw = bytearray(path.read_bytes())
        raw[len(raw) // 2] ^= 1
        path.write_bytes({"flipped": bytes(raw), "truncated": bytes(raw[:100]), "empty": b""}[damage])
    code, _, err = finish(start(tmp_path))
    assert code == 0, err
    assert err.count("building it again") == 3
    assert_same(tmp_path, clean)


def test_full_disk(tmp_path: Path) -> None:
    limited = ["bash", "-c", 'trap "" XFSZ; ulimit -f 64; exec "$@"', "bash", *COMMAND]
    environment = {**os.environ, "GECO_CACHE": str(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(limited, env=environment, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 6, done.stderr
    assert done.stderr.count("\n") == 1
    assert "could not write" in done.stderr
    assert entries(tmp_path) == {}


def test_folder_in_place_of_the_cache_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    code, _, err = finish(start(tmp_path / "file" / "cache"))
    assert code == 6
    assert err.startswith("geco: error: cannot write to the cache")
