"""Node sets with the same number of trials for every model: each is tuned by validation alone over its own space, as
`geco tune` does it, and the best settings are trained with several seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from geco.data.registry import Embedded
from geco.pages import Block, Cell, Facts, Heading, Table
from geco.studies.claims.grid import Bench, Grid, grid_study, plain, training
from geco.studies.claims.study import Answer, Done, Plan, Scale, Study, Training, Tuning, Unit, Winner
from geco.studies.nodes import SPLITS

__all__ = ["MODELS", "SCALES", "STUDY", "Tuned"]

MODELS: dict[str, dict[str, Any]] = {
    "geco": {"model.name": "geco"},
    "gcn": {"model.name": "gcn"},
    "sage": {"model.name": "sage"},
    "gat": {"model.name": "gat"},
    "gps-performer": {"model.name": "gps-performer"},
    "gcn beside geco": {"model.name": "hybrid", "model.local": "gcn", "model.mixer": "geco"},
    "sgformer": {"model.name": "sgformer"},
    "polynormer": {"model.name": "polynormer"},
}
ORDER = {"model.permutation": "static"}  # of those for which it matters; it cannot give classes away
SHORT = {**ORDER, "train.epochs": 60, "train.eval_every": 2}


@dataclass(frozen=True)
class Tuned:
    """How a scale goes.

    Args:
        trials: of each model on each data set.
        data: the data sets.
        models: names of `MODELS`.
    """

    trials: int
    data: Mapping[str, Bench]
    models: Sequence[str] = field(default_factory=lambda: tuple(MODELS))


SCALES: dict[Scale, Tuned] = {
    "quick": Tuned(
        2,
        {
            "random": Bench(
                settings={**ORDER, "train.epochs": 2},
                made=Embedded("random", "node", "class", "accuracy", "synthetic:erdos_renyi", (60, 4)),
            )
        },
        ("geco", "gcn"),
    ),
    "default": Tuned(10, {name: Bench(settings=SHORT) for name in ("amazon-photo", "tolokers")}),
    "full": Tuned(
        50,
        {
            name: Bench(settings=ORDER)
            for name in (
                *("amazon-photo", "amazon-computers", "coauthor-cs", "tolokers", "cora", "pubmed"),
                *("flickr", "ogbn-arxiv"),
            )
        },
    ),
}


def plan(scale: Scale, seeds: Sequence[int]) -> Plan:
    """Return the tunings, then a training for each seed of what won."""
    chosen = SCALES[scale]
    pairs = [(data, bench, model) for data, bench in chosen.data.items() for model in chosen.models]
    key = {(data, model): f"{data}/{plain(model)}" for data, _, model in pairs}
    units = [
        Unit(f"{key[data, model]}/tuning", Tuning(training(data, bench, MODELS[model], 0), chosen.trials),
             {"data": data, "variant": model})
        for data, bench, model in pairs
    ] + [
        Unit(f"{key[data, model]}/seed-{seed}", Winner(f"{key[data, model]}/tuning", _seeded(data, bench, model, seed)),
             {"data": data, "variant": model, "seed": seed, "paper": None})
        for seed in seeds
        for data, bench, model in pairs
    ]  # fmt: skip
    about = (
        f"Every model has {chosen.trials} trials on each data set, the first with the settings it has by default: "
        "Optuna's TPE over its own space (geco tune --show-space), seed 0, judged by validation alone and left early "
        "by the median. The best is trained with every seed"
    )
    about += ", on tolokers with the split of its number." if "tolokers" in chosen.data else "."
    return Plan(about, units)


def _seeded(data: str, bench: Bench, model: str, seed: int) -> Training:
    found = training(data, bench, MODELS[model], seed)
    split = replace(found.config.data, split=seed % SPLITS.get(data, 1))
    return replace(found, config=replace(found.config, data=split))


def answer(done: Sequence[Done]) -> Answer:
    """Return the scores of what won, and what the tunings came to."""
    tuned = [unit for unit in done if "seed" not in unit.facts]
    scores = grid_study(Grid("", {}, {})).answer([unit for unit in done if "seed" in unit.facts])
    words = [scores.words, *(_trials(data, tuned) for data in dict.fromkeys(unit.facts["data"] for unit in tuned))]
    best: list[Block] = [Heading("Best settings"), Facts([_settings(unit) for unit in tuned])] if tuned else []
    return replace(
        scores, words="\n".join(words), charts=[*scores.charts, *best], tables=[*scores.tables, *_tables(tuned)]
    )


def _settings(unit: Done) -> tuple[str, str]:
    """Return a model on a data set, and the settings that won or why none did."""
    found = unit.result
    settings = (f"{name.partition('.')[2]} {value}" for name, value in found.get("settings", {}).items())
    said = f"none: {found['failed']}" if "failed" in found else ", ".join(settings)
    return f"{unit.facts['variant']} on {unit.facts['data']}", said


def _trials(data: str, tuned: Sequence[Done]) -> str:
    """Return whether all models had the same number of trials on a data set, as counted."""
    counts = {unit.facts["variant"]: unit.result.get("trials", 0) for unit in tuned if unit.facts["data"] == data}
    low, high = min(counts.values()), max(counts.values())
    if low == high:
        return f"On {data} each of the {len(counts)} models had {low} trials."
    fewest = ", ".join(name for name, count in counts.items() if count == low)
    return f"On {data} models had {low} ({fewest}) to {high} trials, so they are not tuned alike."


def _tables(tuned: Sequence[Done]) -> list[Table]:
    rows: list[list[str | float | Cell]] = []
    for unit in tuned:
        found, who = unit.result, [unit.facts["data"], unit.facts["variant"]]
        if "failed" in found:
            rows.append([*who, "none finished", Cell("–"), Cell("–")])
            continue
        ends = ", ".join(f"{count} {state}" for state, count in sorted(found["ends"].items()))
        rows.append([*who, ends, Cell(f"{found['valid']:.4f}", found["valid"]), float(round(found["tuned"]))])
    note = "Validation score of the best trial, which one seed judged; trials that are pruned were left early. Seconds "
    note += "are those of all trials."
    columns = ["data", "model", "trials", "validation", "seconds"]
    return [Table(columns, rows, "What each model's trials came to", note=note)] if rows else []


STUDY = Study(plan, answer)
