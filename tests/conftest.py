"""Shared helpers: one way to compare, one way to make graphs."""

from __future__ import annotations

import pytest
import torch
from hypothesis import settings
from torch import Tensor

settings.register_profile("default", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def relative_error(found: Tensor, wanted: Tensor) -> float:
    """Error of the whole tensor beside its size; 0 beside 0."""
    wanted = wanted.detach().double()
    size = float(wanted.norm())
    return float((found.detach().double() - wanted).norm()) / (size or 1.0)


def assert_as_good_as(found: Tensor, naive: Tensor, exact: Tensor, name: str = "", floor: float = 2.4e-7) -> None:
    """Our error must be at most twice the naive same-precision one, or two roundings of float32, if that was lucky (N =
    2).
    """
    ours, theirs = relative_error(found, exact), relative_error(naive, exact)
    assert ours <= max(2 * theirs, floor), f"{name}: error {ours:.2e}, naive {theirs:.2e}"


def random_edges(num_nodes: int, degree: int = 4, seed: int = 0) -> Tensor:
    """Directed edges with repeats and self loops, as real files have them."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, num_nodes, (2, num_nodes * degree), generator=generator)
