"""Which encoding helps, and how many columns does it need? GECO with each encoding at ranks 4 to 32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geco.data.registry import Embedded
from geco.pages import Block, Heading, LineChart, Mark, Rule, Series
from geco.studies.claims.grid import Bench, Grid, grid_study, runs_by
from geco.studies.claims.page import spread_of
from geco.studies.claims.study import Answer, Done, Scale

__all__ = ["GRID", "STUDY"]

RANKS = (4, 8, 16, 32)
KINDS = {
    "Laplacian": "lap-pe", "random walk": "rwse", "SVD of the adjacency": "adj-svd",
    "relative adjacency": "rel-adjacency", "relative shortest path": "rel-shortest-path",
    "relative diffusion": "rel-diffusion",
}  # fmt: skip
VARIANTS: dict[str, dict[str, Any]] = {
    "none": {"data.encodings": []},
    "degree": {"data.encodings": ["degree"]},
    **{f"{name} {rank}": {"data.encodings": [f"{kind}:{rank}"]} for name, kind in KINDS.items() for rank in RANKS},
}
DATA: dict[Scale, dict[str, Bench]] = {
    "quick": {
        "ring-copy": Bench(
            settings={"model.hidden": 8, "model.layers": 1, "train.epochs": 1, "model.encoding_width": 4},
            made=Embedded("ring-copy", "node", "class", "accuracy", "synthetic:ring_copy", (4, 20)),
            only=("none", "degree", "Laplacian 4", "relative diffusion 4"),
        )
    },
    "default": {
        "peptides-func": Bench(
            "peptides-func-small",
            {"train.epochs": 8, "train.eval_every": 4, "optim.warmup": 1, "optim.average": 0.99},
            share=0.1,
            weights=200_000,
            note="a tenth of the training graphs, 8 epochs, about 200,000 weights, so below the paper's scores",
        )
    },
    "full": {name: Bench(f"{name}-pure", weights=500_000) for name in ("peptides-func", "peptides-struct")},
}


def by_rank(done: Sequence[Done]) -> Answer:
    """Return the score of each encoding against its rank."""
    charts: list[Block] = []
    for data in dict.fromkeys(unit.facts["data"] for unit in done):
        scores = {name: spread_of([run["test"] for run in runs]) for name, runs in runs_by(done, data).items()}
        series = []
        for look, kind in enumerate(KINDS):
            found = [(float(rank), *scores[f"{kind} {rank}"]) for rank in RANKS if f"{kind} {rank}" in scores]
            if found:
                x, mean, spread = zip(*found, strict=True)
                low, high = ([m + side * s for m, s in zip(mean, spread, strict=True)] for side in (-1, 1))
                marks = [Mark(a, b) for a, b in zip(x, mean, strict=True)]
                series.append(Series(kind, x, mean, low, high, marks, look=look))
        rules = [Rule(name, scores[name][0]) for name in ("none", "degree") if name in scores]
        if series:
            note = "Bands are a standard deviation over seeds."
            chart = LineChart(f"Score by rank on {data}", "columns", "test score", series, rules, log_x=True, note=note)
            charts += [Heading("By rank"), chart]
    return Answer("", charts, [])


GRID = Grid(
    "GECO layers with each encoding joined to the features. Where a number of weights is named, widths are fitted to "
    "it.",
    VARIANTS,
    DATA,
    more=by_rank,
)
STUDY = grid_study(GRID)
