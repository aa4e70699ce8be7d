"""Placeholders for what a file asks to make; made afterwards, by public constructors that check what they are given.

See `geco.data.safe.unpickle` for why.
"""

from __future__ import annotations

import io
import math
import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

__all__ = [
    "PLAIN",
    "Array",
    "Buffer",
    "DType",
    "Empty",
    "Encoded",
    "Forbidden",
    "Placeholder",
    "Scalar",
    "Sparse",
    "Storage",
    "Strided",
    "build",
]

PLAIN = (list, dict, set, frozenset, int, float)
_ATOMS = (type(None), bool, int, float, complex, str, bytes, torch.Size, torch.Tensor)

Build = Callable[[Any], Any]


class Forbidden(ValueError):
    """The file asks for something that data never needs."""


class Placeholder:
    """A call or an object that a file asks for: stands for it while reading, made and checked by `make` afterwards."""

    args: tuple[Any, ...] = ()
    state: Any = None

    def __init__(self, *args: Any) -> None:
        self.args = args

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def make(self, build: Build) -> Any:
        """Return what it stands for; ``build`` makes what the arguments stand for."""
        raise Forbidden("it holds a class instead of data")


class Encoded(Placeholder):
    """Bytes written as text, as Python 2 and the older protocols have them."""

    def make(self, build: Build) -> bytes:
        """Return the bytes, of Latin-1 only."""
        text, encoding = self.args
        if encoding not in ("latin1", "latin-1"):
            raise Forbidden(f"it uses the text encoding {encoding!r}")
        return bytes(text, "latin1")


class Empty(Placeholder):
    """No bytes, as the older protocols have them; ``bytes(n)`` would take memory."""

    def make(self, build: Build) -> bytes:
        """Return the bytes."""
        return b"".join(self.args)  # refuses numbers


class DType(Placeholder):
    """The type of an array's elements: numbers, truth values or text, never Python objects or records."""

    def make(self, build: Build) -> np.dtype[Any]:
        """Return the type if it is a harmless one."""
        code = build(self.args[0])
        if not isinstance(code, str) or not re.fullmatch(r"\?|[biufc][0-9]{1,2}|[SU][1-9][0-9]{0,5}", code):
            raise Forbidden(f"it holds an array of type {code!r}, not of numbers or text")
        order: Any = build(self.state[1]) if self.state else "="
        return np.dtype(code).newbyteorder(order)


class Array(Placeholder):
    """A NumPy array as its ``__reduce__`` writes it: an empty one, then its shape, type, order and bytes."""

    def make(self, build: Build) -> np.ndarray[Any, Any]:
        """Return the array if its bytes fit."""
        shape, dtype, fortran, data = (build(item) for item in self.state[-4:])
        return _array(data, dtype, shape, "F" if fortran else "C")


class Buffer(Placeholder):
    """A NumPy array as protocol 5 writes it."""

    def make(self, build: Build) -> np.ndarray[Any, Any]:
        """Return the array if its bytes fit."""
        return _array(*(build(item) for item in self.args))


class Scalar(Placeholder):
    """A NumPy number."""

    def make(self, build: Build) -> Any:
        """Return the number."""
        dtype, data = (build(item) for item in self.args)
        return _array(data, dtype, (), "C")[()]


class Sparse(Placeholder):
    """A SciPy matrix; its own ``__setstate__`` would trust the indices."""

    kind = ""

    def make(self, build: Build) -> Any:
        """Return the matrix if its indices are in range."""
        import scipy.sparse

        state = {build(name): build(value) for name, value in self.state.items() if name != "maxprint"}
        shape = state.get("_shape", state.get("shape"))
        data = state["data"]
        form = getattr(scipy.sparse, self.kind)
        if self.kind.startswith("coo"):
            return form((data, state.get("coords") or (state["row"], state["col"])), shape=shape)
        matrix = form((data, state["indices"], state["indptr"]), shape=shape)
        matrix.check_format(full_check=True)
        return matrix


class Storage(Placeholder):
    """A tensor's memory, as a torch file within the pickle. Made into the flat tensor of all its elements."""

    def make(self, build: Build) -> torch.Tensor:
        """Return the flat tensor."""
        data = build(self.args[0])
        storage = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        if not isinstance(storage, torch.storage.TypedStorage) or storage.nbytes() > len(data):
            raise Forbidden("it holds a tensor without valid memory")
        return torch.empty(0, dtype=storage.dtype).set_(storage.untyped())


class Strided(Placeholder):
    """A torch tensor: memory, offset, size and stride; ``as_strided`` refuses to reach outside the memory."""

    def make(self, build: Build) -> torch.Tensor:
        """Return the tensor if it lies within its memory."""
        flat, offset, size, stride = (build(item) for item in self.args[:4])
        if not isinstance(self.args[0], Storage) or math.prod(size) > flat.numel():
            raise Forbidden("it holds a tensor larger than its memory")
        return torch.as_strided(flat, size, stride, offset)


def _array(data: Any, dtype: Any, shape: Any, order: Any) -> np.ndarray[Any, Any]:
    """Return a new array of exactly these bytes. Python 2 wrote bytes as text."""
    data = data.encode("latin1") if isinstance(data, str) else data
    if not isinstance(data, bytes) or not isinstance(dtype, np.dtype):
        raise Forbidden("it holds an array of Python objects")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"an array of shape {shape} and type {dtype} cannot have {len(data)} bytes")
    return np.ndarray(shape, dtype, data, order=order).copy(order="K")


def build(value: Any) -> Any:
    """Return ``value`` with every `Placeholder` in it made; anything that is not data is refused."""
    seen: dict[int, tuple[Any, Any]] = {}  # by id: the value, which keeps its id taken, and what became of it

    def visit(value: Any) -> Any:
        if type(value) in _ATOMS:
            return value
        if id(value) not in seen:
            seen[id(value)] = value, visit  # marks it as being made
            seen[id(value)] = value, _rebuilt(value, visit)
        made = seen[id(value)][1]
        if made is visit:
            raise Forbidden("it holds something that contains itself")
        return made

    return visit(value)


def _rebuilt(value: Any, visit: Build) -> Any:
    kind: Any = type(value)
    if kind in (list, tuple, set, frozenset):
        return kind(visit(item) for item in value)
    if kind in (dict, OrderedDict, defaultdict):
        pairs = {visit(key): visit(item) for key, item in dict.items(value)}
        factory = getattr(value, "default_factory", None)
        return kind(pairs) if kind is not defaultdict else defaultdict(factory if factory in PLAIN else None, pairs)
    if not isinstance(value, Placeholder):
        raise Forbidden(f"it holds a {kind.__name__} instead of data")
    made = value.make(visit)
    value.args, value.state = (), None  # lets go of the bytes
    return made
