"""One epoch of a hybrid with GECO beside the same with other mixers: ``python -m geco.studies.hybrids``.

Every mixer trains its own network on the same batches of the first epoch, and they take turns batch by batch, so that a
shared machine's changes of speed fall on all of them alike. All settings but the mixer are those of the configuration;
attention is timed with its dropout of attention weights, as published, and without, which is faster. ``--ops`` says
where the time goes.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from geco.configs import shipped
from geco.console import print_table, show_log
from geco.studies.measure import write_json
from geco.train.build import prepared
from geco.train.config import read_toml
from geco.train.engine import Group, Trainer

__all__ = ["main", "operations", "take_turns"]

MIXERS: dict[str, dict[str, Any]] = {
    "geco": {"mixer": "geco"},
    "attention": {"mixer": "attention"},
    "attention, no dropout": {"mixer": "attention", "mixer_dropout": 0.0},
    "performer": {"mixer": "performer"},
    "hyena": {"mixer": "hyena"},
    "exphormer": {"mixer": "exphormer"},
    "virtual-node": {"mixer": "virtual-node"},
    "none": {"mixer": "none"},
}


@show_log()
def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    options = parse(arguments)
    config = read_toml(shipped()[options.config])
    dataset = prepared(config, options.data_dir)
    trainers = {
        name: Trainer(replace(config, model=replace(config.model, **MIXERS[name])), dataset) for name in options.mixers
    }
    first = next(iter(trainers.values()))
    steps = min(options.steps or first.batches.steps, first.batches.steps)
    batches = (([(n, *batch)]) for n, batch in zip(range(steps), first.batches.train(0), strict=False))
    times = take_turns(trainers, batches)
    mixers = {name: {**found, "parameters": trainers[name].parameters} for name, found in times.items()}
    print(f"{options.config}: {steps} of {first.batches.steps} steps, {torch.get_num_threads()} threads")
    print_table(table(mixers))
    shares = operations(first, options.ops) if options.ops else {}
    if shares:
        print_table([["operation", "share"], *([name, f"{share:.1%}"] for name, share in shares.items())])
    results = {"steps": steps, "mixers": mixers, "operations": shares}
    write_json(options.json, "python -m geco.studies.hybrids " + " ".join(sys.argv[1:]), results)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.hybrids", description=__doc__)
    parser.add_argument(
        "--config", default="peptides-func", choices=list(shipped()), metavar="NAME", help="of a hybrid"
    )
    parser.add_argument(
        "--mixers", nargs="+", default=["geco", "attention", "attention, no dropout", "none"], choices=MIXERS
    )
    parser.add_argument("--steps", type=int, default=0, help="of the epoch; all, if not given")
    parser.add_argument("--ops", type=int, default=0, help="steps of the first mixer to profile")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"), help="folder of raw data sets")
    parser.add_argument("--json", type=Path, help="write the results here")
    return parser.parse_args(arguments)


def take_turns(trainers: dict[str, Trainer], batches: Iterable[Group]) -> dict[str, dict[str, float]]:
    """Return each trainer's seconds of training on the batches, and those of loading them, which all share.

    The first batch is taken twice by each, and counts the second time.
    """
    seconds = dict.fromkeys(trainers, 0.0)
    loading = 0.0
    begin = time.perf_counter()
    for number, group in enumerate(batches):
        loading += time.perf_counter() - begin
        for name, trainer in trainers.items():
            if number == 0:
                trainer.model.train()
                trainer.model.set_epoch(0, trainer.config.train.epochs)
                trainer.step(group)
            begin = time.perf_counter()
            trainer.step(group)
            seconds[name] += time.perf_counter() - begin
        begin = time.perf_counter()
    return {name: {"train": spent, "loading": loading} for name, spent in seconds.items()}


def operations(trainer: Trainer, steps: int, most: int = 15) -> dict[str, float]:
    """Return the operations that take most of the time of some steps, and their shares."""
    batches = [[(n, *batch)] for n, batch in zip(range(steps), trainer.batches.train(0), strict=False)]
    with profile(activities=[ProfilerActivity.CPU]) as found:
        for group in batches:
            trainer.step(group)
    rows = sorted(found.key_averages(), key=lambda row: -row.self_cpu_time_total)
    total = sum(row.self_cpu_time_total for row in rows)
    return {row.key: row.self_cpu_time_total / total for row in rows[:most]}


def table(results: dict[str, dict[str, float]]) -> list[list[str]]:
    """Return the rows to print; ratios are to the first."""
    first = next(iter(results.values()))["train"]
    rows = [["mixer", "parameters", "training", "ratio", "loading"]]
    for name, row in results.items():
        found = (
            f"{row['parameters']:,}",
            f"{row['train']:.1f} s",
            f"{row['train'] / first:.2f}",
            f"{row['loading']:.2f} s",
        )
        rows.append([name, *found])
    return rows


if __name__ == "__main__":
    main()
