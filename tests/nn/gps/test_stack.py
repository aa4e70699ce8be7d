"""Hybrid stacks: orders as in GECO, edge features handed on, the batch contract."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from geco.nn import GECO
from geco.nn.gps.stack import HybridStack


def graph(nodes: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    edges = torch.randint(nodes, (2, 2 * nodes), generator=g)
    return torch.randn(nodes, 5, generator=g), edges, torch.randn(2 * nodes, 8, generator=g)


@pytest.mark.parametrize("permutation", ["natural", "static", "dynamic", "structure"])
@pytest.mark.parametrize(
    ("local", "mixer"), [("gatedgcn", "geco"), ("gine", "hyena"), ("gcn", "attention"), ("none", "performer")]
)
def test_batch_contract(local: str, mixer: str, permutation: str) -> None:
    torch.manual_seed(0)
    stack = HybridStack(5, 8, 2, 0.1, local=local, mixer=mixer, permutation=permutation, heads=2).eval()
    parts = [graph(n, n) for n in (7, 1, 12)]
    starts = [0, 7, 8]
    x = torch.cat([p[0] for p in parts])
    edges = torch.cat([p[1] + s for p, s in zip(parts, starts, strict=True)], 1)
    attr = torch.cat([p[2] for p in parts])
    batch, ids = torch.tensor([0] * 7 + [1] + [2] * 12), torch.tensor([4, 9, 2])
    together = stack(x, edges, batch, attr, ids)
    for i, (one, start) in enumerate(zip(parts, starts, strict=True)):
        alone = stack(one[0], one[1], torch.zeros(len(one[0]), dtype=torch.int64), one[2], ids[i : i + 1])
        torch.testing.assert_close(alone, together[start : start + len(alone)], rtol=1e-5, atol=1e-5)


def test_pure_geco_layers_are_those_of_the_model() -> None:
    """With no local layer, LayerNorm and an FFN of width D the stack is GECO, orders included."""
    x, edges, _ = graph(30, 0)
    options = {"permutation": "dynamic", "eval_orders": 2, "seed": 3}
    model = GECO(5, 8, 2, **options).eval()  # type: ignore[arg-type]
    stack = HybridStack(5, 8, 2, local="none", mixer="geco", norm="layer", ffn_ratio=1.0, **options).eval()
    theirs, mine = model.state_dict(), stack.state_dict()
    renamed = {
        k.replace("conv.", "mixer.").replace("norm1", "mixer_norm").replace("norm2", "ffn_norm"): v
        for k, v in theirs.items()
    }
    assert renamed.keys() == mine.keys()
    stack.load_state_dict(renamed)
    torch.testing.assert_close(stack(x, edges), model(x, edges), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", [{"filter": "mean"}, {"norm": "layer"}])
def test_a_gnn_before_the_mixer_is_one_stack_after_the_other(options: dict[str, str]) -> None:
    x, edges, attr = graph(30, 2)
    stack = HybridStack(5, 8, 2, local="gatedgcn", mixer="geco", arrangement="before", **options).eval()
    assert [(layer.local is None, layer.mixer is None) for layer in stack.layers] == [(False, True)] * 2 + [
        (True, False)
    ] * 2
    assert stack.edge_fields == ("edge_weight", "edge_attr")
    h, more = stack.encoder(x), attr
    for layer in stack.layers[:2]:
        h, more = layer.with_edges(h, edges, None, more)
    for layer in stack.layers[2:]:
        h = layer(h, edges)
    torch.testing.assert_close(stack(x, edges, edge_attr=attr), h, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("local", "mixer"), [("none", "geco"), ("gcn", "none")])
def test_before_needs_both(local: str, mixer: str) -> None:
    with pytest.raises(ValueError, match=r"needs a local GNN and a mixer, got .*='none'"):
        HybridStack(5, 8, 2, local=local, mixer=mixer, arrangement="before")
    with pytest.raises(ValueError, match="arrangement 'after' is not known"):
        HybridStack(5, 8, 2, arrangement="after")  # type: ignore[arg-type]


def test_dynamic_orders_follow_the_epoch() -> None:
    x, edges, _ = graph(30, 1)
    stack = HybridStack(5, 8, 2, local="none", mixer="geco", permutation="dynamic", norm="layer")
    first = stack(x, edges)
    stack.set_epoch(1)
    assert not torch.allclose(first, stack(x, edges))
    stack.set_epoch(0)
    assert torch.equal(first, stack(x, edges))


def test_every_weight_learns() -> None:
    x, edges, attr = graph(30, 2)
    stack = HybridStack(5, 8, 2, local="gatedgcn", mixer="geco")
    stack(x, edges, None, attr).pow(2).sum().backward()
    idle = [name for name, p in stack.named_parameters() if p.grad is None or not bool(p.grad.any())]
    assert all(name.startswith("layers.1.local") and "edge" in name for name in idle), (
        idle
    )  # the last layer's new edge features
