"""One epoch side by side, by the engine that trains: ``python -m geco.studies.epoch`` prints seconds and peak memory.

On the structure of ogbn-arxiv with random features of its width, or any data set of one graph. Every model runs in a
process of its own, the models take turns, and each keeps its best epoch: a shared machine's speed changes within
minutes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from geco.console import print_table, show_log
from geco.machine import reset_peak, resident
from geco.studies.measure import write_json
from geco.train.build import prepared
from geco.train.config import Config, DataConfig, ModelConfig
from geco.train.engine import Trainer

__all__ = ["cost", "main"]

MODELS = ["geco", "gps-performer", "gcn-pyg", "gcn"]


@show_log()
def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    options = parse(arguments)
    results: dict[str, dict[str, Any]] = {}
    for turn in range(options.turns):
        for name in options.models:
            model = chosen(name, options.hidden, options.layers)
            found = cost(Config(DataConfig(options.data), model), options.data_dir, options.epochs)
            results[name] = best(results.get(name), found)
            print(f"turn {turn + 1}: {name} {found['train']:.2f} s", file=sys.stderr, flush=True)
    print(f"{options.data}, width {options.hidden}, {options.layers} layers, {torch.get_num_threads()} threads")
    print_table(table(results))
    write_json(options.json, "python -m geco.studies.epoch " + " ".join(sys.argv[1:]), results)


def chosen(name: str, hidden: int, layers: int) -> ModelConfig:
    """Return the network of a name, or a hybrid of two, such as gcn+exphormer.

    >>> found = chosen("gcn+exphormer", 64, 3)
    >>> found.name, found.local, found.mixer
    ('hybrid', 'gcn', 'exphormer')
    """
    local, plus, mixer = name.partition("+")
    return (
        ModelConfig("hybrid", hidden, layers, local=local, mixer=mixer) if plus else ModelConfig(name, hidden, layers)
    )


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.epoch", description=__doc__)
    parser.add_argument("--data", default="ogbn-arxiv-structure", help="data set of one graph")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"), help="folder of raw data sets")
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="MODEL", help="or LOCAL+MIXER")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3, help="of each process; the best counts")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the results here")
    return parser.parse_args(arguments)


def cost(config: Config, data_dir: Path | None, epochs: int = 3) -> dict[str, Any]:
    """Return seconds of training and of evaluation of the best epoch, and peak memory, from a process of its own.

    Args:
        config: of the run.
        data_dir: folder of raw data sets.
        epochs: how many are run beside one that warms up; the later half counts, as Polynormer begins without
            attention.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_cost, (config, data_dir, epochs))


def _cost(config: Config, data_dir: Path | None, epochs: int) -> dict[str, Any]:
    dataset = prepared(config, data_dir)
    config = replace(config, train=replace(config.train, epochs=epochs + 1, save_every=epochs + 1))
    reset_peak()
    with tempfile.TemporaryDirectory() as folder:
        parameters = Trainer(config, dataset, Path(folder) / "run").fit()["parameters"]
        lines = [json.loads(line) for line in (Path(folder) / "run" / "timing.jsonl").read_text().splitlines()]
    times = {key: min(line[key] for line in lines[len(lines) // 2 :]) for key in ("train", "evaluate")}
    return {**times, "peak": resident(), "parameters": parameters}


def best(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Return the smaller of every figure."""
    return new if old is None else {key: min(old[key], new[key]) for key in new}


def table(results: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Return the rows to print; ratios are to the first model."""
    first = next(iter(results.values()))
    rows = [["model", "parameters", "epoch", "ratio", "evaluation", "ratio", "peak resident"]]
    for name, row in results.items():
        rows.append([
            name, f"{row['parameters']:,}", f"{row['train']:.2f} s", f"{row['train'] / first['train']:.2f}",
            f"{row['evaluate']:.2f} s", f"{row['evaluate'] / first['evaluate']:.2f}", f"{row['peak'] / 2**30:.2f} GiB",
        ])  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
