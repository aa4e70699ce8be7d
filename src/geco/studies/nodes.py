"""GECO beside six baselines on real node graphs, tuned alike: ``python -m geco.studies.nodes --data amazon-photo``.

Every model gets the same trials of a data set (`TRIALS`): each is trained with seed 0 (on Pubmed, whose validation
nodes are few, with three), the one with the best mean *validation* score is kept, and trained with five seeds. Test
scores of the other trials are not even recorded. What is done is written at once to ``results/nodes`` and not done
again, so the study can be stopped and started; a record of other trials than those of now is started again. ``--cost``
adds seconds and memory of an epoch, side by side (nothing else may run); ``--table`` prints what there is, and
``--configs`` writes what was chosen, where it differs from the defaults.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from geco.console import print_table, show_log
from geco.data import load
from geco.data.dataset import GraphDataset
from geco.machine import environment
from geco.studies.epoch import best, cost
from geco.studies.record import Record
from geco.train.config import Config, from_table, to_toml
from geco.train.engine import Trainer

__all__ = ["MODELS", "TRIALS", "main"]

MODELS = ["geco", "gcn", "sage", "gat", "gps-performer", "sgformer", "polynormer"]
SEEDS = range(5)
CHOOSING = {
    "cora": 3,
    "pubmed": 3,
}  # seeds of every trial, by whose mean one is chosen, where not 1: 500 validation nodes and 60 labels
SPLITS = {"tolokers": 10}  # data sets with several splits: a seed takes the split of its number


def _trial(
    layers: int, hidden: int, dropout: float, inputs: float, lr: float, decay: float, epochs: int,
    optimiser: str = "adamw",
    norms: bool = True, diffusion: int = 0, consistency: float = 0.0, average: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    model = {"layers": layers, "hidden": hidden, "dropout": dropout, "input_dropout": inputs, "block_norm": norms}
    return {
        "model": {**model, "diffusion": diffusion},
        "optim": {"name": optimiser, "lr": lr, "weight_decay": decay, "average": average},
        "train": {"epochs": epochs, "consistency": consistency},
    }


_SHOPS = [  # layers, width, dropout, of the features, learning rate, weight decay, epochs
    _trial(2, 64, 0.6, 0.0, 2e-3, 5e-3, 120),
    _trial(2, 128, 0.5, 0.2, 1e-2, 5e-3, 120),
    _trial(3, 64, 0.5, 0.0, 5e-3, 5e-4, 120),
]
TRIALS: dict[str, list[dict[str, Any]]] = {
    "amazon-photo": _SHOPS,
    "pubmed": [
        _trial(
            2, 64, 0.7, 0.8, 5e-3, 5e-3, 120, "adam", norms=False
        ),  # of those that have a choice: GECO and plain GNNs
        _trial(2, 64, 0.5, 0.5, 1e-2, 5e-4, 120, "adam", norms=False),
        _trial(2, 32, 0.8, 0.8, 1e-2, 5e-3, 60, "adam", diffusion=32, consistency=1.0, average=0.9),
    ],
    "cora": [
        _trial(2, 64, 0.5, 0.8, 1e-2, 5e-3, 60, "adam", norms=False, diffusion=16, consistency=1.0, average=0.9),
        _trial(2, 32, 0.8, 0.8, 1e-2, 5e-3, 60, "adam", diffusion=32, consistency=1.0, average=0.9),
        _trial(2, 64, 0.5, 0.5, 1e-2, 5e-4, 60, "adam", norms=False),  # much as GCN was published
    ],
    "amazon-computers": _SHOPS,
    "tolokers": [
        _trial(3, 64, 0.2, 0.0, 3e-3, 5e-4, 120),
        _trial(3, 64, 0.3, 0.0, 1e-2, 5e-3, 120),
        _trial(2, 128, 0.4, 0.0, 3e-3, 5e-3, 120),
    ],
    "coauthor-cs": [
        _trial(2, 64, 0.5, 0.0, 2e-3, 5e-3, 80),
        _trial(1, 128, 0.6, 0.0, 2e-3, 5e-2, 80),
        _trial(2, 64, 0.5, 0.0, 1e-2, 5e-3, 80),
    ],
}


@show_log()
def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    options = parse(arguments)
    for name in options.data if not (options.table or options.configs) else []:
        records = {model: Tuned(options.results / f"{name}-{model}.json", name, model) for model in options.models}
        if options.cost:
            add_costs(records, options.data_dir, options.turns)
            continue
        dataset = load(name, options.data_dir)
        for record in records.values():
            record.run(dataset)
    if options.configs:
        write_configs(options.results, options.configs, options.data, options.models)
    print_table(table(options.results, options.data, options.models))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.nodes", description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(TRIALS), choices=list(TRIALS))
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"), help="folder of raw data sets")
    parser.add_argument("--results", type=Path, default=Path("results/nodes"), help="folder of the records")
    parser.add_argument("--cost", action="store_true", help="measure an epoch of each model's chosen trial")
    parser.add_argument("--turns", type=int, default=2, help="how often the models take turns in --cost")
    parser.add_argument("--table", action="store_true", help="only print what the records hold")
    parser.add_argument("--configs", type=Path, help="folder to write each model's chosen settings to")
    return parser.parse_args(arguments)


class Tuned(Record):
    """What is known of one model on one data set, kept in a file.

    Args:
        path: the file; what it holds is taken up, if it is of the trials and the rule of now.
        data: name of the data set.
        model: name of the network.
    """

    def __init__(self, path: Path, data: str, model: str) -> None:
        self.data, self.model = data, model
        judged = CHOOSING.get(data, 1)  # seeds by whose mean a trial is judged
        super().__init__(path, {"data": data, "model": model, "tried": TRIALS[data], "judged": judged})

    def config(self, trial: int, seed: int) -> Config:
        """Return the configuration of one run."""
        split = seed % SPLITS.get(self.data, 1)
        table = {**TRIALS[self.data][trial], "data": {"name": self.data, "split": split}, "seed": seed}
        return from_table({**table, "model": {**table["model"], "name": self.model}}, Config(), f"trial {trial}")

    @property
    def chosen(self) -> int:
        """Number of the trial with the best validation score."""
        valid: list[float] = self.known["trials"]
        return valid.index(max(valid))

    def run(self, dataset: GraphDataset) -> None:
        """Do what is missing: the trials, then the seeds of the best."""
        if self.outdated:
            print(f"{self.path} is of other trials, or judged otherwise, than now: starting again", file=sys.stderr)
        valid: list[float] = self.known.get("trials", [])
        tried: dict[tuple[int, int], dict[str, Any]] = {}
        for trial in range(len(valid), len(TRIALS[self.data])):
            for seed in list(SEEDS)[: self.rules["judged"]]:
                tried[trial, seed] = self._train(dataset, trial, seed)
            valid.append(statistics.mean(found["valid"] for (of, _), found in tried.items() if of == trial))
            self.keep(trials=valid, environment=environment())
        seeds: list[dict[str, Any]] = self.known.get("seeds", [])
        for seed in list(SEEDS)[len(seeds) :]:
            found = tried.get((self.chosen, seed)) or self._train(dataset, self.chosen, seed)
            seeds.append({key: found[key] for key in ("valid", "test", "epoch", "metric", "parameters")})
            self.keep(chosen=self.config(self.chosen, 0).to_json(), seeds=seeds, environment=environment())

    def _train(self, dataset: GraphDataset, trial: int, seed: int) -> dict[str, Any]:
        found = Trainer(self.config(trial, seed), dataset).fit()
        message = (
            f"{self.data} {self.model} trial {trial} seed {seed}: valid {found['valid']:.4f} at epoch {found['epoch']}"
        )
        print(message, file=sys.stderr, flush=True)
        return found


def add_costs(records: dict[str, Tuned], data_dir: Path | None, turns: int) -> None:
    """Measure an epoch of every model's chosen trial, in turns; models without one are left out."""
    records = {model: record for model, record in records.items() if "trials" in record.known}
    costs: dict[str, dict[str, Any]] = {}
    for _ in range(turns):
        for model, record in records.items():
            costs[model] = best(costs.get(model), cost(record.config(record.chosen, 0), data_dir))
    for model, record in records.items():
        record.keep(cost={**costs[model], "environment": environment()})


def write_configs(results: Path, folder: Path, names: list[str], models: list[str]) -> None:
    """Write the chosen settings: GECO's under the name of the data set, where ``geco train`` finds them.

    Others are written beside it if they are not those of GECO: then ``--model.name`` alone gives them.
    """
    for name in names:
        ours = _chosen(results, name, "geco")
        for model in models:
            found = _chosen(results, name, model)
            if found is None or (model != "geco" and replace(found, model=replace(found.model, name="geco")) == ours):
                continue
            count = len(TRIALS[name])
            head = f"# The best of {count} trials by validation: python -m geco.studies.nodes --data {name}\n\n"
            path = folder / (f"{name}.toml" if model == "geco" else f"{name}-{model}.toml")
            path.write_text(head + to_toml(found, Config()), encoding="utf-8")


def _chosen(results: Path, name: str, model: str) -> Config | None:
    """Return what was chosen for a model, None if its seeds are not done."""
    record = Tuned(results / f"{name}-{model}.json", name, model)
    return record.config(record.chosen, 0) if len(record.known.get("seeds", [])) == len(SEEDS) else None


def table(folder: Path, names: list[str], models: list[str]) -> list[list[str]]:
    """Return the rows to print, the best model of each data set marked."""
    rows = [["data set", "model", "valid", "test", "parameters", "epoch", "peak resident"]]
    for name in names:
        known = [Tuned(folder / f"{name}-{model}.json", name, model).known for model in models]
        done = [k for k in known if len(k.get("seeds", [])) == len(SEEDS)]
        first = max((statistics.mean(s["test"] for s in k["seeds"]) for k in done), default=0.0)
        rows += [_row(k, first) for k in done]
    return rows


def _row(known: dict[str, Any], first: float) -> list[str]:
    tests = [seed["test"] for seed in known["seeds"]]
    cost_of = known.get("cost")
    mean = statistics.mean(tests)
    return [
        known["data"], known["model"], f"{100 * statistics.mean(seed['valid'] for seed in known['seeds']):.2f}",
        f"{100 * mean:.2f} ± {100 * statistics.stdev(tests):.2f}" + (" *" if mean >= first else ""),
        f"{known['seeds'][0]['parameters']:,}",
        f"{cost_of['train'] + cost_of['evaluate']:.2f} s" if cost_of else "",
        f"{cost_of['peak'] / 2**30:.2f} GiB" if cost_of else "",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
