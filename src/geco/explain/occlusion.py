r"""What a prediction loses without a node or an edge: computed exactly, on copies of the graph.

A node is left out by giving it the vector of an average node of its graph, :math:`\bar x`. What that changes is estimated
to first order by the gradient, :math:`\nabla_{x_j} s \cdot (x_j - \bar x)`; integrated gradients average the gradient
over points between :math:`\bar x` and x.

Shapes: N nodes, M edges, C copies of a graph, D channels.
"""

from __future__ import annotations

import torch
from torch import Tensor

from geco.explain.question import WIDE, Question

__all__ = ["candidates", "estimate", "without_edges", "without_nodes"]

MOST = 1_000_000  # nodes of all copies together that are spent on an explanation
LEAST = 16  # nodes that are always looked at


@torch.no_grad()
def without_nodes(question: Question, groups: Tensor) -> Tensor:
    """Return the evidence that is left without groups of nodes, ``(C,)``.

    Args:
        question: what is asked.
        groups: which nodes each copy of the graph lacks, ``(C, N)``.
    """
    left = []
    for part in groups.split(max(1, WIDE // question.num_nodes)):
        features = torch.where(part[..., None], question.mean, question.features)
        left.append(question.evidence(question.outputs(features)))
    return torch.cat(left) if left else torch.zeros(0)


@torch.no_grad()
def without_edges(question: Question, groups: Tensor) -> Tensor:
    """Return the evidence that is left without groups of edges, ``(C,)``.

    Args:
        question: what is asked.
        groups: which edges each copy of the graph lacks, ``(C, M)``.
    """
    left = []
    for part in groups.split(max(1, WIDE // question.num_nodes)):
        features = question.features.expand(len(part), -1, -1)
        left.append(question.evidence(question.outputs(features, ~part)))
    return torch.cat(left) if left else torch.zeros(0)


def estimate(question: Question, steps: int = 1) -> Tensor:
    """Return about how much evidence each node gives, ``(N,)``: gradient times input, or integrated gradients.

    Args:
        question: what is asked.
        steps: 1 for the gradient at the graph as it is; more for that many points on the way from average nodes.
    """
    share = torch.ones(1) if steps == 1 else (torch.arange(steps) + 0.5) / steps
    total, away = torch.zeros_like(question.features), question.features - question.mean
    for part in share.split(max(1, WIDE // question.num_nodes)):
        x = (question.mean + part.to(away.device)[:, None, None] * away).detach().requires_grad_()
        with torch.enable_grad():
            evidence = question.evidence(question.outputs(x)).sum()
        total += torch.autograd.grad(evidence, x)[0].sum(0)
    return (total / steps * away).sum(1).detach()


def candidates(question: Question, most: int = MOST) -> Tensor:
    """Return the nodes to leave out one by one: all of a small graph, else those whose `estimate` is largest, ``(C,)``.

    Args:
        question: what is asked.
        most: nodes of all copies together.
    """
    count = max(LEAST, most // max(1, question.num_nodes))
    if count >= question.num_nodes:
        return torch.arange(question.num_nodes)
    return estimate(question).abs().topk(count).indices.sort().values
