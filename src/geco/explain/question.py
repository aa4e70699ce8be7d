"""What is asked of a trained network: why it says what it says of one node, or of one graph.

Shapes: N nodes, M edges, C copies of a graph, T targets, D channels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from geco.data.dataset import Info
from geco.errors import UsageError
from geco.nn.network.network import Network

__all__ = ["Question", "ask", "check_task"]

NODES, NUMBERS = 200_000, 20_000_000  # of all copies that go through the network at a time
OF_NODES, OF_EDGES = ("place",), ("edge_attr", "edge_weight")  # what a network reads of a graph beside its features


@dataclass(frozen=True, eq=False)
class Question:
    """One prediction of a network.

    Args:
        network: in evaluation mode.
        info: what it predicts.
        data: one graph with all that the network reads, ``graph_id`` too where graphs are numbered.
        node: whose prediction it is; None for that of the graph.
        target: number of the class, label or value.
        features: vectors of the nodes ``(N, D)``, from `Network.features`.
        together: whether the network takes copies of a graph in one batch without mixing them.
    """

    network: Network
    info: Info
    data: Data
    node: int | None
    target: int
    features: Tensor
    together: bool = True

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.features)

    @property
    def mean(self) -> Tensor:
        """The vector of an average node of the graph, ``(1, D)``."""
        return self.features.mean(0, keepdim=True)

    @property
    def at_once(self) -> int:
        """How many copies of the graph go through the network at a time."""
        nodes = min(NODES, NUMBERS // max(1, self.features.shape[1]))
        return max(1, nodes // self.num_nodes) if self.together else 1

    @cached_property
    def base(self) -> Tensor:
        """The `evidence` of the graph as it is, a scalar."""
        with torch.no_grad():
            return self.evidence(self.outputs(self.features[None]))[0]

    def outputs(self, features: Tensor, kept: Tensor | None = None) -> Tensor:
        """Return what the network gives for copies of the graph, ``(C, T)``.

        Args:
            features: of the nodes of each copy, ``(C, N, D)``.
            kept: which edges each copy has, ``(C, M)``; all if not given.
        """
        parts = [None] * len(features) if kept is None else kept.split(self.at_once)
        found = [self._outputs(x, part) for x, part in zip(features.split(self.at_once), parts, strict=False)]
        return torch.cat(found) if found else torch.zeros(0, self.info.num_targets)

    def _outputs(self, features: Tensor, kept: Tensor | None) -> Tensor:
        batch = repeated(self.data, len(features), self.num_nodes, kept)
        out: Tensor = self.network(batch, features.flatten(0, 1)).float()
        return out if self.node is None else out.view(len(features), self.num_nodes, -1)[:, self.node]

    def evidence(self, outputs: Tensor) -> Tensor:
        """Return the log-odds of the target, or its value, ``(C,)``; it differs where probabilities round to 1."""
        chosen = outputs[:, self.target]
        if self.info.target != "class" or outputs.shape[1] == 1:
            return chosen
        others = [other for other in range(outputs.shape[1]) if other != self.target]
        return chosen - outputs[:, others].logsumexp(1)

    def value(self, evidence: Tensor) -> Tensor:
        """Return the probability of the target, or its value, from its `evidence`."""
        return evidence if self.info.target == "values" else evidence.sigmoid()

    def about(self, target: int) -> Question:
        """Return the question about another target."""
        return replace(self, target=target)


def check_task(info: Info) -> None:
    """Refuse networks whose predictions are not explained."""
    if info.level == "link":
        raise UsageError("explanations are of nodes and graphs; this network predicts links between pairs of nodes")
    if info.target == "tokens":
        raise UsageError("explanations are of classes, labels and values; this network predicts a sequence of tokens")


def ask(network: Network, info: Info, data: Data, node: int | None = None, target: int | None = None) -> Question:
    """Return the question why a network predicts what it does.

    Args:
        network: puts it into evaluation mode.
        info: what it predicts.
        data: one graph.
        node: whose prediction; None for that of the graph.
        target: number of the class, label or value; if not given, the likeliest class or label, or the first value.
    """
    check_task(info)
    if (node is None) != (info.level == "graph"):
        wanted = "say which node" if node is None else "a node has no prediction of its own; leave it out"
        raise UsageError(f"the network predicts {info.level}s: {wanted}")
    network.eval()
    with torch.no_grad():
        question = Question(network, info, data, node, target or 0, network.features(data))
        found = question.outputs(question.features[None])[0]
        question = replace(question, together=_apart(question, found))
        if target is not None or info.target == "values":
            return question
        return question.about(int(found.argmax()))


def _apart(question: Question, found: Tensor) -> bool:
    """Tell whether a copy beside a changed one gives what it gives alone; some published baselines mix a batch."""
    changed = question.features.flip(0) + 1.0
    beside = question.outputs(torch.stack([question.features, changed]))[0]
    return torch.allclose(beside, found, rtol=1e-3, atol=1e-4 * float(found.abs().max().clamp(min=1)))


def repeated(data: Data, count: int, num_nodes: int, kept: Tensor | None = None) -> Batch:
    """Return copies of a graph as one batch, each with the edges that are kept.

    Args:
        data: one graph.
        count: C.
        num_nodes: N.
        kept: which edges each copy has, ``(C, M)``; all if not given.

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1], [1, 2]]))
        >>> repeated(path, 2, 3, torch.tensor([[True, True], [False, True]])).edge_index.tolist()
        [[0, 1, 4], [1, 2, 5]]
    """
    ends = data.edge_index[:, None] + num_nodes * torch.arange(count, device=data.edge_index.device)[None, :, None]
    rest = slice(None) if kept is None else kept.flatten()
    found = {name: torch.cat([data[name]] * count) for name in OF_NODES if data.get(name) is not None}
    found |= {name: torch.cat([data[name]] * count)[rest] for name in OF_EDGES if data.get(name) is not None}
    batch = Batch(
        edge_index=ends.flatten(1)[:, rest],
        batch=torch.arange(count, device=ends.device).repeat_interleave(num_nodes),
        num_nodes=count * num_nodes,
        **found,
    )
    batch._num_graphs = count
    if data.get("graph_id") is not None:
        batch.graph_id = data.graph_id.expand(count)
    return batch
