"""What becomes of a trained network when somebody numbers the nodes otherwise: ``python -m geco.studies.renumber RUN``.

Scores the test graphs of the run's data set as their file has them, and with the nodes of every graph renumbered at
random. A network that takes nodes in the order made from the graph should not notice; one in natural order may.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

import torch

from geco.console import show_log
from geco.data import load_dataset
from geco.data.dataset import GraphDataset
from geco.data.loaders import GraphLoader
from geco.errors import DataError
from geco.studies.measure import write_json
from geco.train.batches import outputs_of
from geco.train.build import encoded
from geco.train.tasks import score
from geco.train.trained_run import Run, load_run

__all__ = ["main", "renumbered"]


def renumbered(dataset: GraphDataset, seed: int = 0) -> GraphDataset:
    """Return the same graphs with the nodes of each numbered at random.

    Example:
        >>> from geco.data.embedded.synthetic import ring_copy
        >>> rings = ring_copy(5, graphs=20)
        >>> again = renumbered(rings)
        >>> same = again[0].edge_index.shape == rings[0].edge_index.shape
        >>> torch.equal(again.arrays["node/y"], rings.arrays["node/y"]), same
        (False, True)
    """
    if "ptr/link" in dataset.arrays:
        raise DataError(f"{dataset.info.name} asks for links, which name nodes; renumbering is for nodes and graphs")
    sizes = dataset.sizes
    start = dataset.arrays["ptr/node"].long()[:-1]
    graph = torch.repeat_interleave(torch.arange(len(dataset)), sizes)
    drawn = torch.rand(len(graph), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    old = torch.argsort(drawn + graph)  # node at each new number, graph by graph
    new = torch.argsort(old) - start[graph]  # number of each node in its graph
    arrays = {name: array[old] if name.startswith("node/") else array for name, array in dataset.arrays.items()}
    first = torch.repeat_interleave(start, dataset.arrays["ptr/edge"].long().diff())
    ends = dataset.arrays["edge/edge_index"]
    return replace(dataset, arrays={**arrays, "edge/edge_index": new[ends.long() + first].to(ends.dtype)})


def part_score(run: Run, dataset: GraphDataset) -> float:
    """Return the score of a run's network on the test graphs."""
    chosen = dataset.split(run.config.data.split).test
    loader = GraphLoader(
        encoded(dataset, run.config), chosen, run.config.data.batch_size, shuffle=False, group_by_size=True
    )
    return score(outputs_of(run.network, loader, run.info), run.info)


@show_log()
def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.renumber", description=__doc__)
    parser.add_argument("run", type=Path, help="run folder of a data set of many graphs")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--json", type=Path, help="write the results here")
    options = parser.parse_args(arguments)
    run = load_run(options.run)
    dataset = load_dataset.load(run.config.data.name, options.data_dir)
    scores = {"as they are": part_score(run, dataset)}
    for seed in options.seeds:
        scores[f"renumbered, seed {seed}"] = part_score(run, renumbered(dataset, seed))
    for name, value in scores.items():
        print(f"{run.info.metric} of the test graphs, {name}: {value:.6f}")
    about = {"data": run.config.data.name, "order": run.config.model.permutation, "metric": run.info.metric}
    write_json(options.json, f"python -m geco.studies.renumber {options.run.name}", {**about, "scores": scores})


if __name__ == "__main__":
    main()
