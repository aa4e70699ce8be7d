"""Laplacian encoding of a data set of graphs, side by side: `geco.data.encode` and PyG's transform in a loop.

``python -m geco.studies.encodings`` prints the seconds of both over the same graphs, in one run: ours with an empty
cache and with a full one, PyG's AddLaplacianEigenvectorPE as it is called by default and told that the graphs are
undirected.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.transforms import AddLaplacianEigenvectorPE

from geco.console import print_table, progress, show_log
from geco.data.cache import Cache
from geco.data.dataset import GraphDataset
from geco.data.encodings import LaplacianEigenvectors, encode
from geco.data.load_dataset import load
from geco.studies.measure import write_json


@show_log()
def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    options = parse(arguments)
    dataset = every(load(options.dataset, options.data_dir), options.graphs)
    print(f"{options.dataset}: {len(dataset):,} graphs, {dataset.num_nodes:,} nodes, {options.columns} eigenvectors")
    rows = [*ours(dataset, options), *theirs(dataset, options)]
    show(rows)
    command = "python -m geco.studies.encodings " + " ".join(sys.argv[1:])
    write_json(options.json, command, [{"graphs": len(dataset), "nodes": dataset.num_nodes, **row} for row in rows])


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.encodings", description=__doc__)
    parser.add_argument("--dataset", default="peptides-func")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"), help="folder of the raw data")
    parser.add_argument("--graphs", type=int, help="take this many, spread over the data set; all if not given")
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--workers", type=int, help="processes of ours; 0 for none")
    parser.add_argument("--json", type=Path, help="write the results here")
    options = parser.parse_args(arguments)
    options.data_dir = Path(options.data_dir) if options.data_dir else None
    return options


def every(dataset: GraphDataset, count: int | None) -> GraphDataset:
    """Return so many graphs of a data set, evenly spread: what an encoding needs of them."""
    chosen = torch.linspace(0, len(dataset) - 1, min(count or len(dataset), len(dataset))).long()
    ptr = dataset.arrays["ptr/edge"].long()
    edges = torch.cat([torch.arange(int(ptr[i]), int(ptr[i + 1])) for i in chosen])
    arrays = {
        "ptr/node": _starts(dataset.sizes[chosen]),
        "ptr/edge": _starts(ptr.diff()[chosen]),
        "edge/edge_index": dataset.arrays["edge/edge_index"][:, edges],
    }
    return GraphDataset(dataset.info, arrays)


def ours(dataset: GraphDataset, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the rows of `encode`: computed, and read again."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for label in ("geco.data.encode", "the same, cached"):
            begin = time.perf_counter()
            encode(dataset, [LaplacianEigenvectors(options.columns)], Cache(Path(folder)), options.workers)
            rows.append({"method": label, "seconds": time.perf_counter() - begin})
    return rows


def theirs(dataset: GraphDataset, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the rows of PyG's transform, called on one graph after another; the graphs are made beforehand."""
    graphs = [dataset[i] for i in range(len(dataset))]
    rows = []
    for label, undirected in (("PyG, default", False), ("PyG, is_undirected", True)):
        transform = AddLaplacianEigenvectorPE(options.columns, is_undirected=undirected)
        begin = time.perf_counter()
        failed = 0
        for graph in progress(graphs, label, unit="graphs"):
            try:
                transform(graph)
            except Exception:  # no convergence, or fewer nodes than columns: it has no encoding then
                failed += 1
        rows.append({"method": label, "seconds": time.perf_counter() - begin, "failed": failed})
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table; ratios are to PyG's default."""
    base = next(row["seconds"] for row in rows if row["method"] == "PyG, default")
    table = [["method", "seconds", "of PyG's default", "graphs without result"]]
    for row in rows:
        table.append(
            [row["method"], f"{row['seconds']:.2f}", f"{row['seconds'] / base:.3f}", str(row.get("failed", 0))]
        )
    print_table(table)


def _starts(counts: Tensor) -> Tensor:
    return torch.nn.functional.pad(counts.cumsum(0), (1, 0))


if __name__ == "__main__":
    main()
