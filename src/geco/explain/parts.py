r"""What the parts of a network gave: the prediction with one of them silent, in every layer or in one.

In GECO, without its local part :math:`\hat A X` is zero; without its global part every filter is 1 at distance 0 and 0
elsewhere, so no node reaches another through it; beyond its mean it is kept as one, every filter 1 / N. In a hybrid the
local GNN or the mixer adds nothing to what its layer is given. Weights stay as they were trained: a part that others
would make up for in training shows here all the same.

Shapes: N nodes, D channels, K order.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from geco.explain.question import Question
from geco.nn.blocks import LocalPropagation
from geco.nn.conv import GECOLayer
from geco.nn.filters.base import MeanFilter, places_of
from geco.nn.gps.layer import GPSLayer
from geco.nn.graph.prepare import Graph

__all__ = ["without_parts"]

Silence = Callable[[nn.Module], None]  # changes a layer in place


@torch.no_grad()
def without_parts(question: Question) -> Iterator[tuple[str, int | None, float]]:
    """Yield each part by name, its layer (None for all of them, counted from 1) and the evidence left without it."""
    layers: Any = getattr(question.network.body, "layers", [])
    for name, silence in _parts_of(layers).items():
        yield name, None, _left(question, silence, range(len(layers)))
        if len(layers) > 1:
            for number in range(len(layers)):
                yield name, number + 1, _left(question, silence, [number])


def _left(question: Question, silence: Silence, numbers: Sequence[int]) -> float:
    changed = replace(question, network=copy.deepcopy(question.network).eval())
    layers: Any = changed.network.body.layers
    for number in numbers:
        silence(layers[number])
    return float(changed.base)


def _parts_of(layers: Sequence[nn.Module]) -> dict[str, Silence]:
    """Return how to silence each part that the layers have."""
    first = layers[0] if len(layers) else None
    if isinstance(first, GECOLayer):
        whole: dict[str, Silence] = {"local propagation": _cut}
        if first.conv.context.filter is not None:
            whole["global context"] = _alone
            if not isinstance(first.conv.context.filter, MeanFilter):
                whole["global context beyond its mean"] = _mean
        return whole
    if isinstance(first, GPSLayer):
        both: dict[str, tuple[nn.Module | None, Silence]]
        both = {"local GNN": (first.local, _without_local), "global mixer": (first.mixer, _without_mixer)}
        return {name: silence for name, (part, silence) in both.items() if part is not None}
    return {}


def _cut(layer: nn.Module) -> None:
    assert isinstance(layer, GECOLayer)
    layer.conv.local = _Cut(layer.conv.local.normalisation)


def _alone(layer: nn.Module) -> None:
    _filter(layer, _AloneFilter)


def _mean(layer: nn.Module) -> None:
    _filter(layer, MeanFilter)


def _filter(layer: nn.Module, kind: type[MeanFilter]) -> None:
    assert isinstance(layer, GECOLayer)
    context = layer.conv.context
    weight = context.projection.weight
    context.filter, context.algorithm = kind(context.order, context.channels).to(weight), "plain"


def _without_local(layer: nn.Module) -> None:
    assert isinstance(layer, GPSLayer)
    layer.local = _Nothing()


def _without_mixer(layer: nn.Module) -> None:
    assert isinstance(layer, GPSLayer)
    layer.mixer = _Nothing()


class _Nothing(nn.Module):
    """Adds nothing."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class _Cut(LocalPropagation):
    """Local propagation on a graph without edges."""

    def propagate(self, x: Tensor, graph: Graph) -> Tensor:
        return torch.zeros_like(x)


class _AloneFilter(MeanFilter):
    """A filter that leaves every node alone, 1 at distance 0."""

    def forward(self, num_nodes: int) -> Tensor:
        at = (torch.arange(num_nodes, device=self.one.device) == 0).to(self.one)
        return (self.one * at).expand(-1, -1, num_nodes)

    def factors(self, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
        return self.one, (places_of(sizes, self.one.device)[0] == 0).t().to(self.one)
