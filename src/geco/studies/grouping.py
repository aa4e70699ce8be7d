"""What batches of graphs of similar size do to BatchNorm: ``python -m geco.studies.grouping RUN``.

Scores the best network of a run with BatchNorm's running statistics, as it is used, and with those of the batches
themselves, as it was trained, on random batches and on batches of similar size. Where the last is far above the first,
BatchNorm has learned to count on batch mates of its own size, which no one has in use.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
from pathlib import Path

from torch import nn

from geco.console import print_table, show_log
from geco.data.dataset import GraphDataset
from geco.data.loaders import GraphLoader
from geco.nn.network.network import Network
from geco.studies.measure import write_json
from geco.train.batches import outputs_of
from geco.train.build import prepared
from geco.train.tasks import score
from geco.train.trained_run import Run, load_run

__all__ = ["main", "scores"]


@show_log()
def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.grouping", description=__doc__)
    parser.add_argument("run", type=Path, help="folder of a run on many graphs")
    parser.add_argument("--part", default="test", choices=["train", "valid", "test"])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"), help="folder of raw data sets")
    parser.add_argument("--json", type=Path, help="write the results here")
    options = parser.parse_args(arguments)
    run = load_run(options.run)
    dataset = prepared(run.config, options.data_dir)
    if len(dataset) == 1:
        parser.error(f"{options.run} was trained on one graph, {run.info.name}; batches need a run on many")
    results = scores(run, dataset, options.part)
    trained = "of similar size" if run.config.data.group_by_size else "at random"
    print(f"{run.info.name}, {run.info.metric} of {options.part}; trained on batches {trained}")
    print_table(
        [["statistics", "batches", run.info.metric], *([*name.split(", "), f"{s:.4f}"] for name, s in results.items())]
    )
    write_json(options.json, "python -m geco.studies.grouping " + " ".join(sys.argv[1:]), results)


def scores(run: Run, dataset: GraphDataset, part: str) -> dict[str, float]:
    """Return the score of part of the split by which statistics BatchNorm uses and how batches are made."""
    graphs = getattr(dataset.split(run.config.data.split), part)
    found = {}
    for name, own in (("running", False), ("of the batch", True)):
        for batches, grouped in (("random", False), ("similar size", True)):
            network = _with_statistics(run.network, own)
            loader = GraphLoader(dataset, graphs, run.config.data.batch_size, group_by_size=grouped, drop_last=True)
            found[f"{name}, {batches}"] = score(outputs_of(network, loader, run.info), run.info)
    return found


def _with_statistics(network: Network, own: bool) -> Network:
    """Return a copy whose BatchNorm uses the statistics of the batch, if ``own``; the rest is as in evaluation."""
    network = copy.deepcopy(network).eval()
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.train(own)
    return network


if __name__ == "__main__":
    main()
