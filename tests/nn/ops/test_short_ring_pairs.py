"""Rings in blocks: every node has one place, and padding is bounded whatever the sizes."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from geco.nn.ops.short_ring_pairs import ROWS, arrange


@given(st.lists(st.one_of(st.integers(1, 20), st.integers(1, 1024)), min_size=1, max_size=60))
def test_every_node_has_one_place(sizes: list[int]) -> None:
    blocks, back = arrange(tuple(sizes), 8, torch.zeros(1))
    places = torch.cat([block.nodes for block in blocks])
    assert torch.equal(places[back], torch.arange(sum(sizes)))
    empty = torch.ones(len(places), dtype=torch.bool).index_fill_(0, back, False)
    found = torch.cat([torch.zeros(len(b.nodes), dtype=torch.bool).index_fill_(0, b.empty, True) for b in blocks])
    assert torch.equal(empty, found)
    assert sorted(n for block in blocks for n in block.sizes.tolist()) == sorted(sizes)
    assert all(int(block.sizes.sum()) < 2 * ROWS for block in blocks)


@given(st.lists(st.integers(1, 1024), min_size=1, max_size=40), st.integers(0, 500))
def test_small_rings_are_not_laid_out_like_a_large_one(sizes: list[int], single: int) -> None:
    blocks, _ = arrange((*sizes, *[1] * single), 8, torch.zeros(1))
    for block in blocks:
        assert block.sizes.max() < 2 * block.sizes.clamp(min=8).min()
        assert len(block.nodes) <= 2 * len(block.sizes) * (int(block.sizes.max()) // 2 + 1)
