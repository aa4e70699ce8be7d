"""Who finds an answer that is many edges away: accuracy against distance, networks of equal depth and width.

Ring-copy and tree-copy ask one node for the key of another one; with distractors every node has a key, so that it does
not suffice to see all of them. Echo asks every node of a path for the colour so many steps away, which takes knowing
how far away each node is (`geco.data.embedded`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geco.data.registry import Embedded
from geco.names import MIXERS
from geco.pages import Block, Cell, Facets, Heading, LineChart, Mark, Rule, Series, Table
from geco.studies.claims.page import mean_cell, spread_of
from geco.studies.claims.study import Answer, Done, LeftOut, Plan, Scale, Study, Training, Unit
from geco.train.config import Config, from_table

__all__ = ["MODELS", "STUDY", "TASKS", "Task", "answer", "plan"]

DEPTH = 4  # layers, so that message passing sees as many edges far
SOLVED = 0.95  # of the targets right


@dataclass(frozen=True)
class Task:
    """A question at several distances.

    Args:
        maker: of the data, in `geco.data.embedded`.
        choices: answers there are: chance is one of them.
        distances: at each scale.
        graphs: how many, at each scale.
        more: further arguments of the maker, after the distance, the graphs and the choices.
        batch: graphs of a step.
    """

    maker: str
    choices: int
    distances: dict[Scale, tuple[int, ...]]
    graphs: dict[Scale, int]
    more: tuple[Any, ...] = ()
    batch: int = 16

    def data(self, scale: Scale, distance: int) -> Embedded:
        """Return how its graphs are made."""
        name = self.maker.partition(":")[2].replace("_", "-")
        arguments = (distance, self.graphs[scale], self.choices, *self.more)
        return Embedded(name, "node", "class", "accuracy", self.maker, arguments)


FAR: dict[Scale, tuple[int, ...]] = {"quick": (), "default": (2, 4, 8, 16), "full": (2, 4, 6, 8, 16, 32, 64, 128)}
DEEP: dict[Scale, tuple[int, ...]] = {"quick": (), "default": (2, 4, 6), "full": (2, 3, 4, 5, 6, 7, 8)}
STEPS: dict[Scale, tuple[int, ...]] = {
    "quick": (2,),
    "default": (2, 4, 16, 64),
    "full": (1, 2, 4, 8, 16, 32, 64, 128, 192),
}
COPIES: dict[Scale, int] = {"quick": 20, "default": 400, "full": 5000}
PATHS: dict[Scale, int] = {"quick": 10, "default": 200, "full": 1000}
TASKS = {
    "ring-copy": Task("synthetic:ring_copy", 4, FAR, COPIES),
    "ring-copy, distractors": Task("synthetic:ring_copy", 4, FAR, COPIES, (0, True)),
    "tree-copy": Task("synthetic:tree_copy", 4, DEEP, COPIES),
    "tree-copy, distractors": Task("synthetic:tree_copy", 4, {**DEEP, "quick": (2,)}, COPIES, (0, True)),
    "echo": Task("echo:echo", 8, STEPS, PATHS),
}
MODELS: dict[str, dict[str, Any]] = {
    "GCN": {"name": "gcn"},
    "GatedGCN": {"name": "gatedgcn"},
    "GPS (attention)": {"name": "hybrid", "local": "gatedgcn", "mixer": "attention"},
    "Exphormer": {"name": "hybrid", "local": "gatedgcn", "mixer": "exphormer"},
    "GECO": {"name": "geco", "filter": "windows", "permutation": "structure"},
}
EPOCHS: dict[Scale, int] = {"quick": 1, "default": 40, "full": 100}
PATIENCE: dict[Scale, int] = {"quick": 0, "default": 14, "full": 30}  # epochs
HIDDEN: dict[Scale, int] = {"quick": 8, "default": 32, "full": 64}


def plan(scale: Scale, seeds: Sequence[int]) -> Plan:
    """Return a training for each task, distance, model and seed."""
    there = {name: model for name, model in MODELS.items() if model.get("mixer", "geco") in MIXERS}
    units = [
        Unit(
            f"{task.replace(', ', '-')}-{distance}/{name.split()[0].lower()}/seed-{seed}",
            Training(_config(TASKS[task], model, scale, seed), TASKS[task].data(scale, distance)),
            {"task": task, "distance": distance, "model": name, "seed": seed},
        )
        for seed in seeds
        for task in TASKS
        for distance in TASKS[task].distances[scale]
        for name, model in there.items()
    ]
    gone = [LeftOut(name, f"this version has no mixer {MODELS[name]['mixer']}") for name in MODELS if name not in there]
    words = (
        f"Networks of {DEPTH} layers of width {HIDDEN[scale]} without dropout, AdamW at 0.003, up to {EPOCHS[scale]} "
        f"epochs, ended when validation does not improve; {COPIES[scale]} graphs of a copy task, {PATHS[scale]} paths "
        "of echo, 80 % of them for training. GECO has windows over the order that is derived from the graph. Nothing "
        "was tuned. Accuracy on the test graphs at the best validation epoch."
    )
    return Plan(words, units, gone)


def _config(task: Task, model: dict[str, Any], scale: Scale, seed: int) -> Config:
    table = {
        "data": {"name": task.maker.partition(":")[2].replace("_", "-"), "batch_size": task.batch},
        "model": {"layers": DEPTH, "hidden": HIDDEN[scale], "dropout": 0.0, **model},
        "optim": {"lr": 0.003, "weight_decay": 0.0, "warmup": 1},
        "train": {
            "epochs": EPOCHS[scale],
            "patience": PATIENCE[scale],
            "statistics": 4,
            "eval_every": 2,
            "save_every": 5,
        },
        "seed": seed,
    }
    return from_table(table, Config(), "the study")


def answer(done: Sequence[Done]) -> Answer:
    """Return accuracy against distance, and who is right how far."""
    if not done:
        return Answer("Nothing is trained yet.", [], [])
    scores: dict[tuple[str, str, int], list[float]] = {}
    for unit in done:
        place = (unit.facts["task"], unit.facts["model"], unit.facts["distance"])
        scores.setdefault(place, []).append(unit.result.get("test", 0.0))  # one that diverges has nothing right
    tasks = [task for task in TASKS if any(place[0] == task for place in scores)]
    charts: list[Block] = [Heading("Accuracy by distance"), Facets([_chart(task, scores) for task in tasks])]
    return Answer(_words(tasks, scores), charts, [_table(task, scores) for task in tasks])


Scores = dict[tuple[str, str, int], list[float]]


def _of(task: str, model: str, scores: Scores) -> list[tuple[int, list[float]]]:
    return sorted((place[2], found) for place, found in scores.items() if place[:2] == (task, model))


def _chart(task: str, scores: Scores) -> LineChart:
    series = []
    for look, model in enumerate(MODELS):
        found = [(distance, *spread_of(values)) for distance, values in _of(task, model, scores)]
        if found:
            x, mean, spread = zip(*found, strict=True)
            low, high = ([m + side * s for m, s in zip(mean, spread, strict=True)] for side in (-1, 1))
            marks = [Mark(a, b) for a, b in zip(x, mean, strict=True)]
            series.append(Series(model, x, mean, low, high, marks, look=look))
    chance = Rule("chance", 1 / TASKS[task].choices)
    note = f"Bands are a standard deviation over seeds; message passing of {DEPTH} layers sees {DEPTH} edges far."
    kind = "depth of the tree" if task.startswith("tree") else "steps" if task == "echo" else "edges"
    return LineChart(
        task, kind, "accuracy", series, [chance], log_x=len(series[0].x) > 1, note=note, window=(0.0, 1.05)
    )


def _table(task: str, scores: Scores) -> Table:
    distances = sorted({place[2] for place in scores if place[0] == task})
    rows: list[list[str | float | Cell]] = []
    for model in MODELS:
        found = dict(_of(task, model, scores))
        if found:
            rows.append([model, *(mean_cell(found.get(distance, []), 3) for distance in distances)])
    return Table(["model", *(f"at {distance}" for distance in distances)], rows, f"{task}: test accuracy by distance")


def reach(task: str, model: str, scores: Scores) -> int | None:
    """Return the largest distance up to which a model is right at every one, 0 for none; None if it was not trained."""
    found = _of(task, model, scores)
    far = 0
    for distance, values in found:
        if spread_of(values)[0] < SOLVED:
            break
        far = distance
    return far if found else None


def _words(tasks: Sequence[str], scores: Scores) -> str:
    sentences = [f"Here a model solves a distance if at least {SOLVED:.0%} of the test targets are right."]
    for task in tasks:
        most = max(place[2] for place in scores if place[0] == task)
        reached = {model: far for model in MODELS if (far := reach(task, model, scores)) is not None}
        parts = []
        for far in sorted(set(reached.values()), reverse=True):
            names = ", ".join(model for model in reached if reached[model] == far)
            parts.append(f"{names} {'at every distance' if far == most else f'up to {far}' if far else 'at none'}")
        sentences.append(f"{task[0].upper()}{task[1:]} (up to {most}) is solved by {'; by '.join(parts)}.")
    return "\n".join([*sentences, _failures(tasks, scores)])


def _failures(tasks: Sequence[str], scores: Scores) -> str:
    """Return where GECO itself is not right."""
    failed = [
        f"{task} at {distance} ({spread_of(values)[0]:.2f})"
        for task in tasks
        for distance, values in _of(task, "GECO", scores)
        if spread_of(values)[0] < SOLVED
    ]
    better = [
        f"{task} at {distance}"
        for task in tasks
        for distance, values in _of(task, "GECO", scores)
        if spread_of(values)[0]
        < max((_mean(task, m, distance, scores) for m in MODELS if m != "GECO"), default=0) - 0.02
    ]
    words = f"GECO itself does not solve {', '.join(failed)}." if failed else "GECO solves all that was asked here."
    return words + (f" Another model is ahead of it by more than 0.02 on {', '.join(better)}." if better else "")


def _mean(task: str, model: str, distance: int, scores: Scores) -> float:
    found = scores.get((task, model, distance), [])
    return spread_of(found)[0] if found else -math.inf


STUDY = Study(plan, answer)
