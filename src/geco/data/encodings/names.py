"""Encodings by name, as flags and configurations write them: ``lap-pe``, or with its size ``lap-pe:10``."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from geco.data.encodings.base import Encoding
from geco.data.encodings.degree import Degree
from geco.data.encodings.laplacian import LaplacianEigenvectors
from geco.data.encodings.random_walk import RandomWalk
from geco.data.encodings.relative import AdjacencySVD, Relative
from geco.errors import UsageError

__all__ = ["NAMES", "parse"]

# Name: the encoding of a size. What the size counts, and the usual one, are the class's.
NAMES: dict[str, Callable[..., Encoding]] = {
    "lap-pe": LaplacianEigenvectors,
    "lap-pe-values": lambda *k: LaplacianEigenvectors(
        *k, normalization="none", skip_first=False, with_values=True, per_component=False
    ),  # as in GraphGPS: with eigenvalues, of the plain Laplacian
    "rwse": RandomWalk,
    "degree": Degree,
    "adj-svd": AdjacencySVD,
    "rel-adjacency": lambda *rank: Relative("adjacency", *rank),
    "rel-shortest-path": lambda *rank: Relative("shortest-path", *rank),
    "rel-diffusion": lambda *rank: Relative("diffusion", *rank),
}


def parse(text: str) -> Encoding:
    """Return the encoding of a name and, after a colon, its size.

    Example:
        >>> parse("lap-pe:4").width, parse("rwse").width
        (4, 16)
        >>> parse("lappe")
        Traceback (most recent call last):
        geco.errors.UsageError: no encoding is called 'lappe'; did you mean lap-pe? There are lap-pe, ...
    """
    name, colon, size = text.partition(":")
    if name not in NAMES:
        near = difflib.get_close_matches(name.lower().replace("_", "-"), NAMES, 1, 0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"no encoding is called {name!r}; {hint}There are {', '.join(NAMES)}")
    if colon and not (size.isascii() and size.isdigit()):
        raise UsageError(f"the size of an encoding is a whole number, say {name}:8; got {text!r}")
    return NAMES[name](*([int(size)] if colon else []))
