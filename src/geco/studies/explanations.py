"""Does an explanation name the node that holds the answer? Measures compared where that node is known.

``python -m geco.studies.explanations RUN... [--asked 100]`` takes runs of `geco train` on ring-copy, tree-copy and
echo, asks about nodes of their test graphs, and prints how often the source of the answer comes first, and among the
first three, for each measure.

Shapes: N nodes.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from geco.console import print_line, print_table
from geco.errors import UsageError
from geco.explain.explain import explain, hops_from
from geco.explain.occlusion import estimate
from geco.explain.question import Question, ask
from geco.train.trained_run import load_run

__all__ = ["MEASURES", "asked", "hits", "source"]

FIRST = 3


def _change(question: Question) -> list[int]:
    return [effect.nodes[0] for effect in explain(question).nodes]


def _mean(question: Question) -> list[int]:
    """Rank by what is left with the mean vector in a node's place."""
    with torch.no_grad():
        each = torch.eye(question.num_nodes, dtype=torch.bool)[..., None]
        left = question.evidence(question.outputs(torch.where(each, question.mean, question.features)))
        return _ranked(left - question.evidence(question.outputs(question.features[None])))


def _ranked(scores: Tensor) -> list[int]:
    found: list[int] = scores.abs().argsort(descending=True).tolist()
    return found


MEASURES: dict[str, Callable[[Question], list[int]]] = {
    "other nodes in its place": _change,
    "the mean in its place": _mean,
    "gradient times input": lambda question: _ranked(estimate(question, 1)),
    "integrated gradients, 20": lambda question: _ranked(estimate(question, 20)),
}


def source(name: str, data: Data, node: int) -> int:
    """Return the node whose feature is the answer at a node.

    Args:
        name: of the data set.
        data: one graph of it.
        node: that has an answer.
    """
    if name in ("ring-copy", "tree-copy"):
        return int((data.x[:, -2] == 1).nonzero())
    steps = 64 if name.endswith("64") else 16
    mark = int((data.x[:, 0] == 0).nonzero())
    from_node, from_mark = (hops_from(data.edge_index, len(data.x), end) for end in (node, mark))
    return int(((from_node == steps) & (from_mark == from_mark[node] - steps)).nonzero()[0][0])


def asked(run: str | Path, count: int) -> Iterator[tuple[Question, int]]:
    """Yield questions about nodes of the test graphs of a run, drawn once, and the source of each answer."""
    loaded = load_run(run)
    dataset, name = loaded.training_data(), loaded.info.name
    if not re.fullmatch("ring-copy|tree-copy|echo|echo-64", name):
        raise UsageError(f"the source of an answer is known on ring-copy, tree-copy and echo; {run} is on {name}")
    graphs, drawn = dataset.split().test.tolist(), torch.Generator().manual_seed(0)
    for number in range(count):
        graph = graphs[number % len(graphs)]
        data = dataset.batch([graph])
        known = (data.y >= 0).nonzero().flatten()
        node = int(known[int(torch.randint(len(known), (), generator=drawn))])
        yield ask(loaded.network, loaded.info, data, node), source(name, data, node)


def hits(run: str | Path, count: int, measure: Callable[[Question], list[int]]) -> tuple[int, int]:
    """Return how often the source comes first, and among the first three."""
    places = [measure(question).index(answer) for question, answer in asked(run, count)]
    return sum(place == 0 for place in places), sum(place < FIRST for place in places)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--asked", type=int, default=100)
    arguments = parser.parse_args()
    rows = [["run", "measure", "first", f"first {FIRST}", "asked", "seconds each"]]
    for run in arguments.runs:
        for name, measure in MEASURES.items():
            start = time.perf_counter()
            first, three = hits(run, arguments.asked, measure)
            each = (time.perf_counter() - start) / arguments.asked
            rows.append([run, name, str(first), str(three), str(arguments.asked), f"{each:.2f}"])
            print_line("  ".join(rows[-1]))
    print_table(rows)


if __name__ == "__main__":
    main()
