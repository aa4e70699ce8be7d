"""Random damage: a DataError or a harmless result, never a crash or much memory."""

from __future__ import annotations

import io
import pickle
import random
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from geco.data.safe import readers
from geco.errors import DataError
from tests.data.safe import files
from tests.data.safe.files import SOUND, put


def mutate(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        place, step = rng.randrange(len(changed)), rng.random()
        if step < 0.6:
            changed[place] = rng.randrange(256)
        elif step < 0.75:
            del changed[place : place + rng.randrange(1, 9)]
        elif step < 0.9:
            changed[place:place] = rng.randbytes(rng.randrange(1, 9))
        else:
            del changed[max(place, 1) :]
    return bytes(changed)


def fuzz_pickle() -> bytes:
    return pickle.dumps([SOUND, sp.csr_matrix(np.eye(3))], 4)


def fuzz_old_pickle() -> bytes:
    return pickle.dumps([SOUND[1:], sp.coo_matrix(np.eye(3))], 2)


def fuzz_npz() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, x=np.arange(50).reshape(5, 10), s=np.array(["a"]))
    return file.getvalue()


def fuzz_torch() -> bytes:
    return files.torch_file([torch.ones(2), {"x": np.arange(3)}], True)


def fuzz_old_torch() -> bytes:
    return files.torch_file([torch.ones(2), {"x": np.arange(3)}], False)


@pytest.mark.parametrize(
    ("read", "make"),
    [
        (readers.read_pickle, fuzz_pickle),
        (readers.read_pickle, fuzz_old_pickle),
        (readers.read_npz, fuzz_npz),
        (readers.read_torch, fuzz_torch),
        (readers.read_torch, fuzz_old_torch),
    ],
)
def test_random_damage_is_refused_or_harmless(
    tmp_path: Path, read: Callable[[Path], Any], make: Callable[[], bytes]
) -> None:
    rng, data, told = random.Random(0), make(), []
    read(put(tmp_path / "a", data))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(400):
        try:
            read(put(tmp_path / "a", mutate(data, rng)))
        except DataError as error:
            told.append(str(error))
    assert len(told) > 200
    assert not any("\n" in line for line in told)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB
