"""One graph whole and in sampled batches: ``python -m geco.studies.sampling`` prints scores and what a step sees.

With the settings that are shipped for the data set. The whole graph is one step an epoch, so it gets more epochs; what
is compared is a training to the end, not an epoch. Scores are of the test part, on the whole graph, at the best
validation epoch.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from geco.console import print_table, show_log
from geco.studies.measure import write_json
from geco.train.build import prepared
from geco.train.config import Config
from geco.train.configured import configured
from geco.train.engine import Trainer

__all__ = ["main", "trained"]

WAYS = ("none", "clusters", "hops", "walks")


@show_log()
def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.sampling", description=__doc__)
    parser.add_argument("--data", default="amazon-photo", help="data set of one graph")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"), help="folder of raw data sets")
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS, metavar="WAY")
    parser.add_argument("--batch-size", type=int, default=512, help="training nodes of a sampled step")
    parser.add_argument("--fanout", type=int, nargs="+", default=[10, 5])
    parser.add_argument("--epochs", type=int, default=100, help="of the whole graph")
    parser.add_argument("--sampled-epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--json", type=Path, help="write the results here")
    options = parser.parse_args(arguments)
    results = {}
    for way in options.ways:
        epochs = options.epochs if way == "none" else options.sampled_epochs
        config = _config(options, way, epochs)
        results[way] = [trained(replace(config, seed=seed), options.data_dir) for seed in options.seeds]
        print(f"{way} done", file=sys.stderr, flush=True)
    print(f"{options.data}, {options.batch_size} training nodes a sampled step, fan-out {options.fanout}")
    print_table(table(results))
    write_json(options.json, "python -m geco.studies.sampling " + " ".join(sys.argv[1:]), results)


def _config(options: argparse.Namespace, way: str, epochs: int) -> Config:
    data = {"sample": way, "batch_size": options.batch_size, "fanout": options.fanout}
    return configured(options.data, [], {"data": data, "train": {"epochs": epochs}}, "the study")


def trained(config: Config, data_dir: Path | None = None) -> dict[str, Any]:
    """Return the score of a training, its length, and what the first step of it sees."""
    trainer = Trainer(config, prepared(config, data_dir))
    data, _ = next(iter(trainer.batches.train(0)))
    begin = time.perf_counter()
    found = trainer.fit()
    return {
        "test": found["test"],
        "best epoch": found["epoch"],
        "epochs": config.train.epochs,
        "steps": trainer.batches.steps,
        "nodes": data.num_nodes,
        "edges": data.num_edges,
        "seconds": time.perf_counter() - begin,
    }


def table(results: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    """Return the rows to print; times are in multiples of the first."""
    first = fmean(run["seconds"] for run in next(iter(results.values())))
    rows = [["sample", "test", "epochs", "steps an epoch", "nodes a step", "edges a step", "time"]]
    for way, runs in results.items():
        scores, one = [run["test"] for run in runs], runs[0]
        spread = f" ± {stdev(scores):.4f}" if len(scores) > 1 else ""
        ratio = fmean(run["seconds"] for run in runs) / first
        counts = [f"{one[key]:,}" for key in ("epochs", "steps", "nodes", "edges")]
        rows.append([way, f"{fmean(scores):.4f}{spread}", *counts, f"{ratio:.2f}"])
    return rows


if __name__ == "__main__":
    main()
