r"""What a prediction loses without a node or an edge: computed exactly, on copies of the graph.

A node is left out by giving it the vectors of other nodes of its graph in turn, so that what the network sees is still
a graph of the kind it knows: :math:`\Delta_j = s(x) - \frac{1}{R} \sum_r s(x_j := x_r)`. Where nodes are of R kinds or
fewer, every kind stands in as often as it occurs; else R nodes do, drawn once. R is 4 to find the nodes that matter and
up to 32 to measure those.

To name the nodes of a large graph that are worth it, integrated gradients estimate :math:`\Delta_j` for all at once:
:math:`(x_j - \bar x) \cdot \frac{1}{S} \sum_s \nabla_{x_j} s(\bar x + \alpha_s (x - \bar x))`.

Shapes: N nodes, M edges, C copies of a graph, R stand-ins, D channels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from geco.explain.question import Question

__all__ = ["FEW", "MEASURED", "Left", "affordable", "candidates", "estimate", "without_edges", "without_nodes"]

FEW, MANY = 4, 32  # R
MEASURED = 24  # nodes whose effect is measured with more stand-ins
MOST = 500_000  # nodes of all copies together that are spent on an explanation
ROUNDING = 1e-5  # share of the evidence by which copies of a graph differ in single precision
SORTED = 5000  # nodes up to which their kinds are counted
LEAST = 16  # nodes that are always looked at


@dataclass(frozen=True)
class Left:
    """What a prediction changes by without each of several things, the mean over the stand-ins; what is no more than
    rounding is 0.

    Args:
        change: of the probability or value, ``(C,)``.
        evidence: of the log-odds or value, ``(C,)``.
    """

    change: Tensor
    evidence: Tensor

    @classmethod
    def of(cls, question: Question, evidence: Tensor, share: Tensor) -> Left:
        """Return it from the evidence that each stand-in leaves ``(C, R)``, and the share of each ``(R,)``."""
        evidence, base, share = evidence.double(), question.base.double(), share.double()
        same = (evidence - base).abs() <= ROUNDING * base.abs().clamp(min=1.0)
        evidence = torch.where(same, base, evidence)
        change = question.value(evidence) - question.value(base)
        return cls(change @ share, (evidence - base) @ share)


@torch.no_grad()
def without_nodes(question: Question, groups: Tensor, most: int = FEW) -> Left:
    """Return what is left without groups of nodes.

    Args:
        question: what is asked.
        groups: which nodes each copy of the graph lacks, ``(C, N)``.
        most: R.
    """
    vectors, share = stand_ins(question.features, most)
    found = torch.zeros(len(groups), len(vectors))
    for number, vector in enumerate(vectors):
        parts = groups.split(question.at_once)
        outputs = [question.outputs(torch.where(part[..., None], vector, question.features)) for part in parts]
        found[:, number] = question.evidence(torch.cat(outputs))
    return Left.of(question, found, share)


def stand_ins(features: Tensor, most: int = FEW) -> tuple[Tensor, Tensor]:
    """Return vectors of nodes that stand in for one that is left out, ``(R, D)``, and the share of each ``(R,)``.

    Example:
        >>> stand_ins(torch.tensor([[5.0], [5.0], [7.0], [5.0]]))
        (tensor([[5.],
                [7.]]), tensor([0.7500, 0.2500]))
    """
    if len(features) <= SORTED:
        kinds, count = features.unique(dim=0, return_counts=True)
        if len(kinds) <= most:
            return kinds, count / count.sum()
    drawn = torch.randperm(len(features), generator=torch.Generator().manual_seed(0))[:most].to(features.device)
    return features[drawn], torch.full((len(drawn),), 1 / len(drawn))


def affordable(question: Question) -> int:
    """Return how many stand-ins R can be afforded for `MEASURED` nodes; `FEW` where it would be hardly more."""
    many = min(MANY, MOST // (MEASURED * question.num_nodes))
    return many if many >= 2 * FEW else FEW


@torch.no_grad()
def without_edges(question: Question, groups: Tensor) -> Left:
    """Return what is left without groups of edges.

    Args:
        question: what is asked.
        groups: which edges each copy of the graph lacks, ``(C, M)``.
    """
    parts = groups.split(question.at_once)
    outputs = [question.outputs(question.features.expand(len(part), -1, -1), ~part) for part in parts]
    evidence = question.evidence(torch.cat(outputs)) if outputs else torch.zeros(0)
    return Left.of(question, evidence[:, None], torch.ones(1))


def estimate(question: Question, steps: int = 8) -> Tensor:
    """Return about how much evidence each node gives, ``(N,)``, by integrated gradients.

    Args:
        question: what is asked.
        steps: points on the way from average nodes; one is gradient times input, halfway.
    """
    away, total = question.features - question.mean, torch.zeros_like(question.features)
    for share in (torch.arange(steps) + 0.5) / steps:
        x = (question.mean + share * away).detach()[None].requires_grad_()
        with torch.enable_grad():
            evidence = question.evidence(question.outputs(x)).sum()
        total += torch.autograd.grad(evidence, x)[0][0]
    return (total / steps * away).sum(1).detach()


def candidates(question: Question, most: int = MOST) -> Tensor:
    """Return the nodes to leave out one by one: all of a small graph, else the one that was asked about and those whose
    `estimate` is largest, ``(C,)``.

    Args:
        question: what is asked.
        most: nodes of all copies together.
    """
    count = max(LEAST, most // (FEW * question.num_nodes))
    if count >= question.num_nodes:
        return torch.arange(question.num_nodes)
    strength = estimate(question).abs()
    if question.node is not None:
        strength[question.node] = torch.inf
    return strength.topk(count).indices.sort().values
