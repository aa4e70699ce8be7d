"""Orders from structure: how near neighbours stand in the line, and how long it takes.

``python -m geco.studies.orders`` compares ways to order one large graph, each from its edges alone: the mean distance
of an edge's ends in the line, the share of edges whose ends are at most 128 places apart, CPU seconds of one thread.
Then a data set of many graphs: seconds of `encode` without processes, first and from the cache, and the share of graphs
that look the same along the order after their nodes were renumbered at random: categories, and steps from each node to
the next.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csgraph, csr_array

from geco.console import print_table, progress, show_log
from geco.data.cache import Cache
from geco.data.dataset import GraphDataset
from geco.data.encodings import encode
from geco.data.encodings.structure_order import StructureOrder, structure_order
from geco.data.load_dataset import load
from geco.nn.graph.clusters import clustered, coordinate, matrix
from geco.nn.graph.colour_refinement import Array, Links, links, refine
from geco.nn.graph.structure_order import components, depth_first, lists
from geco.studies.measure import write_json

NEAR = 128  # places
GRAPHS = ["amazon-photo", "wordnet", "flickr-structure", "ogbn-arxiv-structure"]


@show_log()
def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.orders", description=__doc__)
    parser.add_argument("--graphs", nargs="*", default=GRAPHS, help="data sets of one graph")
    parser.add_argument("--many", default="peptides-func", help="data set of many graphs")
    parser.add_argument("--sample", type=int, default=2000, help="graphs that are renumbered")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"), help="folder of the raw data")
    parser.add_argument("--json", type=Path, help="write the results here")
    options = parser.parse_args(arguments)
    rows = [row for name in options.graphs for row in one_graph(load(name, options.data_dir))]
    show(rows)
    many = many_graphs(load(options.many, options.data_dir), options.sample)
    print(
        "\n".join(
            f"{key}: {value:.4g}" if isinstance(value, float) else f"{key}: {value}" for key, value in many.items()
        )
    )
    command = "python -m geco.studies.orders " + " ".join(sys.argv[1:])
    write_json(options.json, command.strip(), {"one graph": rows, "many graphs": many})


def one_graph(dataset: GraphDataset) -> list[dict[str, Any]]:
    """Return a row for each way to order a graph."""
    ends, nodes = dataset.arrays["edge/edge_index"].numpy().astype(np.int64), dataset.num_nodes
    ways: dict[str, Callable[[], Array]] = {
        "as the file has it": lambda: np.arange(nodes),
        "random": lambda: np.random.default_rng(0).permutation(nodes),
        "reverse Cuthill-McKee": lambda: _numbered(ends, nodes, _banded),
        "depth first": lambda: _numbered(ends, nodes, _deep),
        "spectral": lambda: _numbered(
            ends, nodes, lambda graph: np.argsort(coordinate(matrix(graph), np.arange(nodes), 1000))
        ),
        "clusters, 100 steps": lambda: clustered(links(ends, nodes), np.zeros(nodes, np.int64), 100),
        "clusters (structure_order)": lambda: structure_order(ends, nodes).numpy(),
    }
    rows = []
    for label, order in ways.items():
        begin = time.process_time()
        found = order()
        seconds = time.process_time() - begin
        rows.append(
            {"graph": dataset.info.name, "nodes": nodes, "order": label, "seconds": seconds, **nearness(ends, found)}
        )
    return rows


def nearness(ends: Array, order: Array) -> dict[str, float]:
    """Return how far apart the ends of edges are in an order: the mean as a share of N, and how many are near.

    Example:
        >>> nearness(np.array([[0, 0], [1, 2]]), np.array([1, 0, 2]))["mean"]
        0.333...
    """
    place = np.argsort(order)
    apart = np.abs(place[ends[0]] - place[ends[1]])[ends[0] != ends[1]]
    return {"mean": float(apart.mean()) / len(order), "near": float((apart <= NEAR).mean())}


def many_graphs(dataset: GraphDataset, sample: int) -> dict[str, Any]:
    """Return the seconds of a data set's places and the share of graphs that renumbering leaves as they are."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {"data set": dataset.info.name, "graphs": len(dataset)}
    with tempfile.TemporaryDirectory() as folder:
        for label in ("seconds", "seconds, cached"):
            begin = time.process_time()
            ordered = encode(dataset, [StructureOrder()], Cache(Path(folder)), workers=0)
            found[label] = time.process_time() - begin
    chosen = rng.permutation(len(dataset))[:sample].tolist()
    same, apart, before = [], [], []
    for number in progress(chosen, "renumbered", unit="graphs"):
        graph = ordered[number]
        ends, nodes = graph.edge_index.numpy(), int(graph.num_nodes)
        colours = graph.x.numpy() if dataset.info.categories else np.zeros((nodes, 1), np.int64)
        order = np.argsort(graph.place.numpy())
        same.append(unchanged(ends, colours, order, rng))
        apart.append(nearness(ends, order)["mean"] * nodes)
        before.append(nearness(ends, np.arange(nodes))["mean"] * nodes)
    distances = {
        "places between neighbours": float(np.nanmean(apart)),
        "as the file has them": float(np.nanmean(before)),
    }
    return {**found, "renumbered": len(chosen), "unchanged": float(np.mean(same)), **distances}


def unchanged(ends: Array, colours: Array, order: Array, rng: np.random.Generator) -> bool:
    """Return whether a renumbered graph has the same colours along its order and the same steps from node to node."""
    nodes = len(colours)
    new = rng.permutation(nodes)
    old = np.argsort(new)
    again = old[structure_order(new[ends][:, rng.permutation(ends.shape[1])], nodes, colours[old]).numpy()]
    steps = csgraph.shortest_path(
        csr_array((np.ones(ends.shape[1]), ends), (nodes, nodes)), directed=False, unweighted=True
    )
    walks = (steps[walk[1:], walk[:-1]] for walk in (order, again))
    return bool((colours[order] == colours[again]).all()) and np.array_equal(*walks)


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
    table = [["graph", "order", "mean distance / N", f"within {NEAR}", "seconds"]]
    for row in rows:
        table.append([row["graph"], row["order"], f"{row['mean']:.3f}", f"{row['near']:.3f}", f"{row['seconds']:.2f}"])
    print_table(table)


def _numbered(ends: Array, nodes: int, order: Callable[[Links], Array]) -> Array:
    """Return an order of a graph whose nodes are numbered by colour first, for ways that go by numbers."""
    graph = links(ends, nodes)
    by_colour = np.argsort(refine(graph, np.zeros(nodes, np.int64)), kind="stable")
    found: Array = by_colour[order(graph.renumbered(by_colour))]
    return found


def _banded(graph: Links) -> Array:
    found: Array = csgraph.reverse_cuthill_mckee(matrix(graph), symmetric_mode=True)
    return found


def _deep(graph: Links) -> Array:
    near = lists(graph)
    key = list(range(len(near)))
    return np.concatenate([depth_first(near, part[0], key) for part in components(near)])


if __name__ == "__main__":
    main()
