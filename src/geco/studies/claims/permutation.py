"""Does the order of the nodes matter? GECO in the order of the file, shuffled once, for every epoch, and by structure;
and Hyena as published, with a filter as long as the graph.

Two spreads are told apart: over seeds, and over orders, which is how far the test score of the same weights moves when
they are given other orders. In a file that is sorted by class the order gives the class away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geco.data.registry import Embedded
from geco.nn.ordered_stack import OrderedStack
from geco.pages import BarChart, Block, Cell, Heading, Table
from geco.store import read_entry
from geco.studies.claims.grid import Bench, Grid, grid_study, runs_by
from geco.studies.claims.page import spread_of
from geco.studies.claims.study import Answer, Done, Result, Scale
from geco.train.build import seed_of
from geco.train.engine import Trainer
from geco.train.tasks import score

__all__ = ["GRID", "STUDY", "other_orders"]

ORDERS = 4  # that the trained weights are given beside their own
WINDOWS = {"model.name": "geco", "model.filter": "windows"}
LITERAL = {"model.name": "geco", "model.filter": "paper", "model.filter_gain": "mean"}
VARIANTS: dict[str, dict[str, Any]] = {
    "Hyena natural": {"model.name": "hyena", "model.permutation": "natural"},
    **{f"GECO {order}": {**WINDOWS, "model.permutation": order}
       for order in ("natural", "static", "dynamic", "structure")},
    **{f"paper's filter {order}": {**LITERAL, "model.permutation": order}
       for order in ("natural", "static", "dynamic")},
}  # fmt: skip
PAPER = {  # Table "Accuracy across large datasets with different permutation strategies": Hyena, then GECO
    "flickr": (0.4697, 0.5555, 0.5573, 0.5580), "ogbn-arxiv": (0.5604, 0.7310, 0.7308, 0.7312),
    "reddit": (0.6924, 0.9665, 0.9662, 0.9668), "yelp": (0.5008, 0.6318, 0.6323, 0.6320),
}  # fmt: skip
NAMED = ("Hyena natural", "GECO natural", "GECO static", "GECO dynamic")
SHORT: dict[str, Any] = {"train.eval_every": 5, "train.save_every": 5, "model.input_dropout": 0.0}
SMALL = {**SHORT, "train.epochs": 60, "model.hidden": 64}
LARGE = {**SHORT, "train.epochs": 25, "model.hidden": 64, "model.dropout": 0.2, "optim.lr": 5e-3}


def _large(name: str) -> Bench:
    return Bench(name, paper=dict(zip(NAMED, PAPER[name], strict=True)), note="the shipped configuration")


DATA: dict[Scale, dict[str, Bench]] = {
    "quick": {
        "erdos-renyi": Bench(
            settings={"model.hidden": 8, "model.layers": 1, "train.epochs": 1},
            made=Embedded("erdos-renyi", "node", "class", "accuracy", "synthetic:erdos_renyi", (200, 4)),
            only=("Hyena natural", "GECO natural", "GECO dynamic"),
        )
    },
    "default": {
        "amazon-photo": Bench("amazon-photo", SMALL, note="60 epochs, width 64"),
        "coauthor-cs": Bench("coauthor-cs", SMALL, note="60 epochs, width 64"),
        "tolokers": Bench("tolokers", SMALL, note="60 epochs, width 64"),
        "wordnet": Bench("", LARGE, note="25 epochs, width 64; its file is sorted by class"),
        "flickr": _large("flickr"),
        "ogbn-arxiv": _large("ogbn-arxiv"),
    },
    "full": {name: _large(name) for name in PAPER} | {"wordnet": Bench("", note="its file is sorted by class")},
}


def other_orders(trainer: Trainer) -> Result:
    """Return the test score of the best weights under the seeded orders that evaluation of ``dynamic`` draws from."""
    network = trainer.evaluated
    body = network.body
    if trainer.run is None or not isinstance(body, OrderedStack):
        return {}
    network.load_state_dict(read_entry(trainer.run.path / "best").arrays)
    network.eval()
    kept = body.permutation, body.eval_orders, body.seed
    scores = []
    for number in range(ORDERS):
        body.permutation, body.eval_orders, body.seed = "dynamic", 1, seed_of(trainer.config.seed, number, 7)
        scores.append(score(trainer.batches.outputs(network, ("test",))["test"], trainer.info))
    body.permutation, body.eval_orders, body.seed = kept
    return {"orders": scores}


def spreads(done: Sequence[Done]) -> Answer:
    """Return what seeds and what orders add, and where the order of the file gives classes away."""
    words, tables, charts = [], list[Table](), list[Block]()
    for data in dict.fromkeys(unit.facts["data"] for unit in done):
        found = {name: runs for name, runs in runs_by(done, data).items() if runs[0].get("orders")}
        rows: list[list[str | float | Cell]] = []
        moved = {}
        for name, runs in found.items():
            own, seeds = spread_of([run["test"] for run in runs])
            others = [spread_of(run["orders"]) for run in runs]
            other, orders = (spread_of([pair[i] for pair in others])[0] for i in (0, 1))
            moved[name] = other - own
            cells = [Cell(f"{value:.4f}", value) for value in (own, seeds, other, orders, other - own)]
            rows.append([name, *cells])
        columns = ["", "test", "± over seeds", "in other orders", "± over orders", "moved by"]
        note = f"In other orders: the same weights in {ORDERS} random orders that training did not see."
        if rows:
            tables.append(Table(columns, rows, f"{data}: seeds and orders apart", note=note))
            charts += [
                Heading(f"Other orders, {data}"),
                BarChart("What other orders change in the score", "test score", list(moved.items()), note=note),
            ]
        words.append(_leak(data, found))
    return Answer("\n".join(filter(None, words)), charts, tables)


def _leak(data: str, found: dict[str, list[Result]]) -> str:
    """Return whether the order of the file gives classes away: it scores higher than a shuffled one, and only there."""
    means = {name: spread_of([run["test"] for run in runs]) for name, runs in found.items()}
    told = []
    for kind in ("GECO", "paper's filter"):
        natural, static = means.get(f"{kind} natural"), means.get(f"{kind} static")
        if natural is None or static is None:
            continue
        apart, gap = natural[0] - static[0], natural[1] + static[1]
        both = f"{natural[0]:.4f} in the order of the file and {static[0]:.4f} in a shuffled one"
        if apart > max(2 * gap, 0.01):
            told.append(f"On {data} the order of the file helps to guess the class: {kind} has {both}.")
        else:
            told.append(f"On {data} {kind} has {both}, {'within' if abs(apart) <= gap else 'beyond'} the spreads.")
    return " ".join(told)


GRID = Grid(
    "GECO with windows and with the paper's filter (with a gain of 1/N), both of which depend on the order; the mean "
    "filter, which is what one graph gets by default, does not. Hyena as published: the order of the file, a filter as "
    "long as the graph, no edges.",
    VARIANTS,
    DATA,
    after=other_orders,
    more=spreads,
)
STUDY = grid_study(GRID)
