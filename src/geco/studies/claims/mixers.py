"""One hybrid, every global mixer: the same GNN beside each, the same budget of weights; seconds and memory beside the
score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from geco.data.registry import Embedded
from geco.pages import Block, Cell, Heading, Points, Scatter, Table
from geco.studies.claims.grid import Bench, Grid, grid_study, runs_by
from geco.studies.claims.page import spread_of
from geco.studies.claims.study import Answer, Done, Result, Scale
from geco.studies.measure import held_bytes
from geco.train.engine import Trainer

__all__ = ["GRID", "STUDY", "held"]

MIXERS = ("geco", "attention", "performer", "hyena", "exphormer", "virtual-node", "none")
VARIANTS: dict[str, dict[str, Any]] = {
    "no mixer" if name == "none" else name: {"model.name": "hybrid", "model.mixer": name} for name in MIXERS
}
TINY = {"model.hidden": 8, "model.layers": 1, "model.local": "gcn", "train.epochs": 1}
SHORT = {"train.epochs": 8, "train.eval_every": 2, "optim.lr": 1e-3, "optim.warmup": 1, "optim.average": 0.99}
NODES = {
    "model.layers": 2, "model.local": "gcn", "model.dropout": 0.2, "model.permutation": "static", "train.epochs": 30,
    "train.eval_every": 5, "optim.lr": 5e-3,
}  # fmt: skip
DATA: dict[Scale, dict[str, Bench]] = {
    "quick": {
        "echo": Bench(
            settings=TINY,
            made=Embedded("echo", "node", "class", "accuracy", "echo:echo", (2, 10, 3)),
            weights=10_000,
            note="about 10,000 weights",
            only=("geco", "attention", "exphormer", "no mixer"),
        )
    },
    "default": {
        "peptides-func": Bench(
            "peptides-func-small", {**SHORT, "model.local": "gatedgcn"}, share=0.2, weights=200_000,
            note="GatedGCN beside the mixer; a fifth of the training graphs, 8 epochs, about 200,000 weights",
        ),
        "ogbg-molhiv": Bench(
            "ogbg-molhiv-small", SHORT, share=0.2, weights=200_000,
            note="GatedGCN beside the mixer; a fifth of the training graphs, 8 epochs, about 200,000 weights",
        ),
        "wordnet": Bench(
            "", NODES, weights=100_000,
            note="GCN beside the mixer; 117,659 nodes in one shuffled order, 30 epochs, about 100,000 weights",
            without={"attention": "N² for 117,659 nodes takes minutes a step: `geco study scaling` has its time"},
        ),
    },
    "full": {
        "peptides-func": Bench("peptides-func", weights=500_000, note="the paper's settings for GECO, for all"),
        "ogbg-molhiv": Bench("ogbg-molhiv", note="the paper's settings for GECO, for all"),
        "flickr": Bench("flickr", {"model.local": "gcn"}, weights=500_000, note="GCN beside the mixer"),
    },
}  # fmt: skip


def held(trainer: Trainer) -> Result:
    """Return the bytes that autograd holds between forward and backward of one training batch, per node of it."""
    data = next(iter(trainer.batches.train(0)))[0]
    trainer.model.train()
    torch.manual_seed(0)
    known = [tensor for _, tensor in data if isinstance(tensor, torch.Tensor)]
    model = trainer.model
    found = held_bytes(lambda: model(data), [*known, *model.parameters(), *model.buffers()])
    return {"held": found / data.num_nodes}


def costs(done: Sequence[Done]) -> Answer:
    """Return score against seconds and memory."""
    charts: list[Block] = []
    tables = []
    words = []
    for data in dict.fromkeys(unit.facts["data"] for unit in done):
        runs = runs_by(done, data)
        found = {
            name: [spread_of([run[key] for run in each])[0] for key in ("test", "epoch_seconds", "held")]
            for name, each in runs.items()
        }
        if not found:
            continue
        points = [Points(name, [f[1]], [f[0]], [name], look) for look, (name, f) in enumerate(found.items())]
        charts += [
            Heading(f"What it costs on {data}"),
            Scatter(f"Score and seconds on {data}", "seconds of an epoch", "test score", points),
        ]
        rows: list[list[str | float | Cell]] = [
            [name, Cell(f"{f[1]:.2f}", f[1]), Cell(f"{f[2] / 1024:.1f}", f[2])] for name, f in found.items()
        ]
        note = "Held is what autograd keeps between forward and backward of a training batch, by node of it."
        tables.append(Table(["mixer", "seconds an epoch", "KiB held a node"], rows, f"{data}: cost", note=note))
        quick, small = (min(found, key=lambda name: found[name][key]) for key in (1, 2))
        words.append(f"On {data} an epoch is shortest with {quick}, and {small} holds least memory.")
    return Answer("\n".join(words), charts, tables)


GRID = Grid(
    "The same hybrid for all: the same GNN beside the mixer, depth and training. Where a number of weights is named, "
    "widths are fitted to it. GECO has the filter that its shipped configuration has, or by default: for one graph, "
    "the mean.",
    VARIANTS,
    DATA,
    after=held,
    more=costs,
)
STUDY = grid_study(GRID)
