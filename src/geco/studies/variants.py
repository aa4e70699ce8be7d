"""One mechanism for studies that train variants of one network, which differ in settings only, on several data sets.

A study names its variants as dotted settings, such as ``{"model.order": 3}``, put over the shipped configuration of
each data set. All configurations are made before anything is trained, so that a wrong setting is refused at once. Every
finished run is written to the data set's record and not done again; a variant whose configuration has changed since is
started again. Seeds are the outer loop: every variant has one run before any has two. Give each data set to one process
only.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from geco.configs import shipped
from geco.console import print_line, show_log
from geco.errors import NumericalError, UsageError
from geco.machine import environment
from geco.studies.nodes import SPLITS
from geco.studies.record import Record
from geco.studies.variants_table import write_table
from geco.train.build import prepared
from geco.train.config import Config, from_table, read_toml
from geco.train.engine import Trainer

__all__ = ["Budget", "Runs", "Settings", "Study", "configure", "main", "nested"]

Settings = dict[str, Any]  # by dotted name


@dataclass(frozen=True)
class Budget:
    """What the variants of a data set are put over.

    Args:
        config: name of a shipped configuration; if it is not there, the defaults apply.
        epochs: of each run; 0 are those of the configuration.
        note: what a reader of the scores must know.
    """

    config: str
    epochs: int = 0
    note: str = ""


@dataclass(frozen=True)
class Study:
    """What is compared.

    Args:
        module: that is run, such as ``geco.studies.parts``; its last name is that of the records' folder and of the
            table.
        text: Markdown before the table.
        variants: settings of each.
        data: data sets in the order of the table; others can be asked for by name.
    """

    module: str
    text: str
    variants: dict[str, Settings]
    data: dict[str, Budget] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where records go, beside the table."""
        return Path("results") / self.module.rpartition(".")[2]


@show_log()
def main(study: Study, about: str | None, arguments: list[str] | None = None) -> None:
    """Run a study from the command line."""
    options = _parse(study, about, arguments)
    epochs = _epochs(options.epochs, options.data)
    if not options.table:
        budgets = {name: _budget(study, name, epochs.get(name, 0)) for name in options.data}
        parts = {name: study.variants[name] for name in options.parts}
        runs = [(name, variant, seed) for name in options.data for seed in options.seeds for variant in parts]
        for name, variant, seed in runs:  # before any of them is trained
            configure(name, budgets[name], variant, parts[variant], seed)
        for name, variant, seed in runs:
            record = Runs(options.results / f"{name}.json", name, study.module)
            record.run(variant, parts[variant], budgets[name], seed, options.data_dir)
    write_table(options.results, study.text, list(study.data), list(study.variants))


def configure(data: str, budget: Budget, variant: str, settings: Settings, seed: int) -> Config:
    """Return the configuration of one run; unknown and ill-typed settings are refused.

    Example:
        >>> configure("digits", Budget("digits", 3), "k-3", {"model.order": 3}, 1).model.order
        3
    """
    known = shipped()
    config = read_toml(known[budget.config]) if budget.config in known else Config()
    config = from_table(nested(settings), config, f"variant {variant}")
    epochs = budget.epochs or config.train.epochs
    where = replace(config.data, name=data, split=seed % SPLITS.get(data, 1))
    return replace(config, data=where, train=replace(config.train, epochs=epochs), seed=seed)


class Runs(Record):
    """The runs of one data set, by variant.

    Args:
        path: the file.
        data: name of the data set.
        module: of the study.
    """

    def __init__(self, path: Path, data: str, module: str) -> None:
        self.data, self.module = data, module
        super().__init__(path, {"data": data})

    def run(self, variant: str, settings: Settings, budget: Budget, seed: int, data_dir: Path | None) -> None:
        """Train one variant with one seed, unless it is known."""
        first = configure(self.data, budget, variant, settings, 0)
        known = self._of(variant, first)
        if any(run["seed"] == seed for run in known["runs"]):
            return
        found = _train(configure(self.data, budget, variant, settings, seed), data_dir)
        outcome = found["failed"] if "failed" in found else f"valid {found['valid']:.4f}, test {found['test']:.4f}"
        print_line(f"{self.data} {variant} seed {seed}: {outcome}, {found['seconds']:.0f} s")
        runs = sorted([*known["runs"], {"seed": seed, **found}], key=lambda run: run["seed"])
        command = (
            f"python -m {self.module} --data {self.data} --parts {variant} --epochs {self.data}={first.train.epochs}"
        )
        entry = {"command": command, "settings": settings, "config": first.to_json(), "runs": runs}
        about = {"config": budget.config, "epochs": first.train.epochs, "note": budget.note}
        self.keep(**about, environment=environment(), variants={**self.known.get("variants", {}), variant: entry})

    def _of(self, variant: str, config: Config) -> dict[str, Any]:
        """Return what is known of a variant, if it was trained as it would be now."""
        known: dict[str, Any] = self.known.get("variants", {}).get(variant, {"runs": []})
        if not known["runs"] or _as_now(known["config"], str(self.path)) == config:
            return known
        print_line(f"{self.path}: {variant} was trained with other settings than now and is started again")
        return {"runs": []}


def _as_now(recorded: dict[str, Any], where: str) -> Config | None:
    """Return a recorded configuration, with defaults for settings that came later; None if it has some that are
    gone.
    """
    try:
        return from_table(recorded, Config(), where)
    except UsageError:
        return None


def _train(config: Config, data_dir: Path | None) -> dict[str, Any]:
    """Return scores, best epoch and seconds of a run; of one that diverges, why."""
    dataset = prepared(config, data_dir)
    begin = time.perf_counter()
    try:
        found = Trainer(config, dataset).fit()
    except NumericalError as error:
        found = {"failed": str(error), "metric": dataset.info.metric}
    wanted: list[str] = ["valid", "test", "epoch", "metric", "parameters", "failed"]
    kept = {key: found[key] for key in wanted if key in found}
    return {**kept, "seconds": round(time.perf_counter() - begin, 3), "commit": environment()["commit"]}


def nested(settings: Settings) -> dict[str, Any]:
    """Return tables within tables, as TOML has them.

    Example:
        >>> nested({"model.order": 3, "model.adjacency": "row", "seed": 1})
        {'model': {'order': 3, 'adjacency': 'row'}, 'seed': 1}
    """
    table: dict[str, Any] = {}
    for name, value in settings.items():
        *path, last = name.split(".")
        inner = table
        for key in path:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return table


def _budget(study: Study, name: str, epochs: int) -> Budget:
    found = study.data.get(name, Budget(name))
    return replace(found, epochs=epochs) if epochs else found


def _epochs(words: list[str], names: list[str]) -> dict[str, int]:
    """Return the epochs asked for: ``15`` is for all, ``cora=30`` for one."""
    found: dict[str, int] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        if not number.isdecimal() or int(number) < 1 or (name and name not in names):
            raise UsageError(
                f"--epochs takes N or DATA=N with one of {', '.join(names)} and N of at least 1, got {word!r}"
            )
        found |= {name: int(number)} if name else dict.fromkeys(names, int(number))
    return found


def _parse(study: Study, about: str | None, arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {study.module}", description=about)
    parser.add_argument("--data", nargs="+", default=list(study.data), metavar="NAME", help="data sets")
    parser.add_argument(
        "--parts", nargs="+", default=list(study.variants), choices=list(study.variants), help="variants"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument(
        "--epochs", nargs="+", default=[], metavar="[NAME=]N", help="of each run, for all or one data set"
    )
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"), help="folder of raw data sets")
    parser.add_argument("--results", type=Path, default=study.folder, help="folder of the records")
    parser.add_argument("--table", action="store_true", help="only print and write what the records hold")
    return parser.parse_args(arguments)
