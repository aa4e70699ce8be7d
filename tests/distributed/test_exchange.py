"""Exchanges between several processes against what one process has: values, gradients and what is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from geco.distributed.exchange import Ranks, Traffic, bounds, splits, to_channels, to_nodes, total
from geco.distributed.rows import Rows, ask
from geco.distributed.span import RingSpan
from geco.errors import UsageError
from tests.distributed.workers import in_processes

SHAPES = [(13, 2, 5), (7, 1, 3), (2, 3, 2), (1, 1, 1)]  # N, G, D: uneven, and fewer than ranks


def whole(n: int, g: int, d: int) -> Tensor:
    return torch.randn(n, g, d, dtype=torch.float64, generator=torch.Generator().manual_seed(n))


def mine(x: Tensor, ranks: Ranks) -> Tensor:
    first, last = bounds(len(x), ranks.size)[ranks.rank : ranks.rank + 2]
    return x[first:last].clone().requires_grad_()


def worker(ranks: Ranks) -> dict[str, Any]:
    return {name: check(ranks) for name, check in {"turns": turns, "totals": totals, "halos": halos}.items()}


def turns(ranks: Ranks) -> dict[str, Any]:
    """Node shards to channel shards and back, and the gradient of a weighted sum on the way."""
    found: dict[str, Any] = {}
    for n, g, d in SHAPES:
        x, weight = whole(n, g, d), whole(n, g, d).cos()
        span, part = RingSpan(n, ranks), mine(x, ranks)
        before = ranks.traffic.elements["channels"]  # type: ignore[union-attr]
        columns = to_channels(part, n, ranks)
        here = span.channels(d)
        back = to_nodes(columns, d, ranks)
        (grad,) = torch.autograd.grad((columns * weight[:, :, here]).sum() + (back * 2).sum(), part)
        sent = ranks.traffic.elements["channels"] - before  # type: ignore[union-attr]
        own = weight[span.first : span.first + span.count]
        equal = [torch.equal(columns, x[:, :, here]), torch.equal(back, part), torch.allclose(grad, own + 2)]
        found[f"{n} {g} {d}"] = {"equal": equal, "sent": sent, "shares": [span.count, here.stop - here.start]}
    return found


def totals(ranks: Ranks) -> list[bool]:
    x = torch.full((3, 2), float(ranks.rank + 1), requires_grad=True)
    y = total(x, ranks)
    (grad,) = torch.autograd.grad((y * (ranks.rank + 1)).sum(), x)
    wanted = float(sum(range(1, ranks.size + 1)))
    return [bool((y == wanted).all()), bool((grad == wanted).all())]


def halos(ranks: Ranks) -> list[bool]:
    """Rows around a shard, from several ranks, on long and short rings, and scattered ones."""
    found = []
    for n, reach in ((13, 1), (13, 4), (13, 30), (7, 3), (2, 5), (1, 2)):
        x, span = whole(n, 1, 3)[:, 0], RingSpan(n, ranks)
        part = mine(x, ranks)
        around = span.around(part, reach)
        places = torch.arange(span.first - reach, span.first + span.count + reach) % n
        wanted = x[places] if span.count else x[:0]
        (grad,) = torch.autograd.grad(around.square().sum(), part)
        times = torch.zeros(n, dtype=torch.float64)
        for rank in range(ranks.size):
            first, last = bounds(n, ranks.size)[rank : rank + 2]
            if last > first:
                times += torch.bincount(torch.arange(first - reach, last + reach) % n, minlength=n)
        own = slice(span.first, span.first + span.count)
        found += [torch.equal(around, wanted), torch.allclose(grad, 2 * x[own] * times[own, None])]
    return [*found, scattered(ranks)]


def scattered(ranks: Ranks) -> bool:
    x, span = whole(13, 1, 3)[:, 0], RingSpan(13, ranks)
    others = torch.tensor([p for p in range(ranks.rank, 13, 3) if not span.first <= p < span.first + span.count])
    wanted = others.long()
    rows = Rows(wanted, ask(wanted, 13, ranks), 13, ranks, "edges")
    return torch.equal(rows.extend(mine(x, ranks))[span.count :], x[wanted])


@pytest.mark.dist
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_exchanges(size: int, tmp_path: Path) -> None:
    for found in in_processes(worker, size, tmp_path):
        assert all(found["totals"]), found
        assert all(found["halos"]), found
        for shape, turn in found["turns"].items():
            n, g, d = map(int, shape.split())
            assert all(turn["equal"]), shape
            nodes, channels = turn["shares"]
            # there, back, and the gradients of both: all but what stays here
            assert turn["sent"] == 2 * g * (nodes * (d - channels) + channels * (n - nodes)), shape


@given(st.integers(0, 50), st.integers(1, 9))
def test_splits(n: int, parts: int) -> None:
    shares = splits(n, parts)
    assert sum(shares) == n
    assert shares == sorted(shares, reverse=True)
    assert max(shares) - min(shares) <= 1
    assert bounds(n, parts)[-1] == n


def test_no_group_is_refused() -> None:
    with pytest.raises(UsageError, match="init_process_group"):
        Ranks.of()


def test_traffic_is_the_callers() -> None:
    traffic = Traffic()
    ranks = Ranks(traffic=traffic)
    total(torch.ones(3), ranks)
    assert traffic.total == 0  # one process sends nothing
    ranks.count("edges", 6, torch.ones(1))
    assert (traffic.total, traffic.bytes) == (6, 24)
