"""Explanations of a run: nodes and graphs by the user's own ids, in the data it was trained on or in new files.

Shapes: N nodes, B graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch_geometric.data import Data

from geco.data.dataset import GraphDataset
from geco.data.molecules import ATOM_CATEGORIES
from geco.data.user.names import Names, nearest, read_names
from geco.data.user.read import read_new
from geco.data.user.stored import stored_names
from geco.errors import UsageError
from geco.explain.attention import Acting, acting
from geco.explain.explain import explain
from geco.explain.explanation import Explanation
from geco.explain.question import Question, ask, check_task
from geco.nn.model import GECO
from geco.train.batches import as_trained

if TYPE_CHECKING:
    from geco.train.trained_run import Run

__all__ = ["Explainer", "explainer"]


@dataclass(frozen=True, eq=False)
class Explainer:
    """A run with the data to explain its predictions on.

    Args:
        run: the trained network.
        dataset: with its encodings.
        names: of nodes and graphs.
    """

    run: Run
    dataset: GraphDataset
    names: Names

    def explain(
        self, node: str | int | None = None, graph: str | int | None = None, target: str | int | None = None
    ) -> Explanation:
        """Return why the network predicts what it does.

        Args:
            node: its id, or its number in its graph if an int; None where graphs are predicted.
            graph: its id, or its number if an int; not needed where there is one, or where the node's id is unique.
            target: name or number of the class, label or value; the predicted class, the likeliest label or the first
                value if not given.
        """
        question, number, name = self._question(node, graph, target)
        many = len(self.dataset) > 1
        within = f"graph {self._graph_name(number)}"
        asked = within if question.node is None else f"node {name(question.node)}" + (f" of {within}" if many else "")
        molecule = self.run.info.categories == ATOM_CATEGORIES
        return explain(question, name, asked, molecule)

    def attention(self, node: str | int, graph: str | int | None = None, top: int = 10) -> list[Acting]:
        """Return which nodes act on a node more or less than others in each layer, by surrogate attention.

        Args:
            node: as in `explain`.
            graph: as in `explain`.
            top: nodes of each layer.
        """
        body = self.run.network.body
        if not isinstance(body, GECO):
            raise UsageError(
                f"the network is {self.run.config.model.name}; only GECO has a surrogate attention, leave out "
                "--by attention"
            )
        number, place = self._where(node, graph)
        assert place is not None
        return acting(self.run.network, body, self._data(number), place, self._namer(number), top)

    def _question(
        self, node: str | int | None, graph: str | int | None, target: str | int | None
    ) -> tuple[Question, int, Callable[[int], str]]:
        info = self.run.info
        check_task(info)
        if (node is None) != (info.level == "graph"):
            wanted = "say which node, by --node" if node is None else "leave out --node"
            raise UsageError(f"the network predicts {info.level}s: {wanted}")
        wanted_target = None if target is None else _target(target, info.names, info.num_targets)
        number, place = self._where(node, graph)
        return ask(self.run.network, info, self._data(number), place, wanted_target), number, self._namer(number)

    def _where(self, node: str | int | None, graph: str | int | None) -> tuple[int, int | None]:
        """Return the number of the graph, and of the node in it."""
        first = self.dataset.arrays["ptr/node"].long()
        if isinstance(node, str) and self.names.nodes and graph is None:
            rows = nearest(node, self.names.nodes, "node")
            if len(rows) > 1:
                raise UsageError(f"{len(rows)} graphs have a node called {node!r}; say which, by --graph")
            number = int(torch.searchsorted(first, rows[0], right=True)) - 1
            return number, rows[0] - int(first[number])
        number = self._graph(graph)
        if node is None:
            return number, None
        low, high = int(first[number]), int(first[number + 1])
        if isinstance(node, str) and self.names.nodes:
            return number, nearest(node, self.names.nodes[low:high], "node")[0]
        return number, _number(node, high - low, "node")

    def _graph(self, graph: str | int | None) -> int:
        if graph is None:
            if len(self.dataset) > 1:
                raise UsageError(f"there are {len(self.dataset):,} graphs; say which, by --graph")
            return 0
        if isinstance(graph, str) and self.names.graphs:
            rows = nearest(graph, self.names.graphs, "graph")
            if len(rows) > 1:
                raise UsageError(f"{len(rows)} graphs are called {graph!r}; the first is number {rows[0]}")
            return rows[0]
        return _number(graph, len(self.dataset), "graph")

    def _data(self, number: int) -> Data:
        """Return a graph as the network is given it."""
        if len(self.dataset) == 1 and self.run.info.level == "node":
            return as_trained(self.dataset[0], self.run.config, self.run.info)
        return self.dataset.batch([number])

    def _namer(self, number: int) -> Callable[[int], str]:
        if not self.names.nodes:
            return str
        first = int(self.dataset.arrays["ptr/node"][number])
        return lambda node: self.names.nodes[first + node]

    def _graph_name(self, number: int) -> str:
        return self.names.graphs[number] if self.names.graphs else str(number)


def explainer(
    run: Run,
    data: Data | Sequence[Data] | GraphDataset | str | Path | None = None,
    data_dir: str | Path | None = None,
) -> Explainer:
    """Return what explains a run's predictions.

    Args:
        run: the trained network.
        data: new files, new graphs or a data set without encodings; None for what it was trained on.
        data_dir: folder with raw data sets, for what it was trained on.
    """
    check_task(run.info)
    if data is None:
        dataset = run.training_data(data_dir)
        run.check(dataset)
        return Explainer(run, dataset, stored_names(run.config.data.name) if run.data is None else Names())
    if not isinstance(data, str | Path):
        return Explainer(run, run.with_encodings(data), Names())
    schema = run.reading(Path(data))
    new = read_new(data, schema)
    names = read_names(data, schema)
    if new.failed:
        kept = tuple(name for row, name in enumerate(new.ids) if row not in new.failed)
        names = Names(names.nodes, kept)
    return Explainer(run, run.with_encodings(new.dataset), names)


def _number(wanted: str | int, count: int, kind: str) -> int:
    if isinstance(wanted, str) and not wanted.removeprefix("-").isdigit():
        raise UsageError(f"{kind}s have no ids here, they are numbered 0 to {count - 1:,}; got {wanted!r}")
    if not 0 <= int(wanted) < count:
        raise UsageError(f"{kind}s are numbered 0 to {count - 1:,}, got {wanted}")
    return int(wanted)


def _target(wanted: str | int, names: Sequence[str], count: int) -> int:
    if isinstance(wanted, str) and names:
        return nearest(wanted, names, "target")[0]
    return _number(wanted, count, "target")
