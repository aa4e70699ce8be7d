"""The paper's ablation of the local block: GECO with a convolution, attention along edges or message passing in place
of the LCB, and a Transformer and a Performer without any.
"""

from __future__ import annotations

from typing import Any

from geco.data.registry import Embedded
from geco.studies.claims.grid import Bench, Grid, grid_study
from geco.studies.claims.study import Scale

__all__ = ["GRID", "STUDY"]

# GECO's layer (Algorithm 2) as a hybrid without a GNN, so that its blocks can be replaced.
LAYER: dict[str, Any] = {
    "model.name": "hybrid", "model.local": "none", "model.mixer": "cascade", "model.layer_norm": "layer",
    "model.ffn_ratio": 1.0,
}  # fmt: skip
VARIANTS: dict[str, dict[str, Any]] = {
    "Transformer": {**LAYER, "model.mixer": "attention"},
    "Performer": {**LAYER, "model.mixer": "performer"},
    **{f"Conv-{width}": {**LAYER, "model.block": "conv", "model.block_width": width} for width in (1, 10, 20, 40)},
    "GCN in its place": {**LAYER, "model.block": "gcn"},
    "GatedGCN in its place": {**LAYER, "model.block": "gatedgcn"},
    "no local block": {**LAYER, "model.block": "none"},
    "LCB with attention": {**LAYER, "model.adjacency": "attention"},
    "LCB": LAYER,
}
PAPER = {  # Table "Ablation study on the LCB alternatives": PascalVOC-SP, Peptides-func, Peptides-struct
    "Transformer": (0.2762, 0.6333, 0.2525), "Performer": (0.2690, 0.5881, 0.2739), "Conv-1": (0.2752, 0.6589, 0.2587),
    "Conv-10": (0.1757, 0.6819, 0.2516), "Conv-20": (0.1645, 0.6706, 0.2534), "Conv-40": (0.1445, 0.6517, 0.2547),
    "LCB": (0.3220, 0.6876, 0.2454),
}  # fmt: skip


def _paper(column: int) -> dict[str, float]:
    return {variant: figures[column] for variant, figures in PAPER.items()}


ORDER = {"model.permutation": "natural"}  # as in the paper, whose convolutions go along the nodes as the file has them
SHORT = {**ORDER, "train.epochs": 12, "train.eval_every": 3, "optim.average": 0.99}
TINY = {"model.hidden": 8, "model.layers": 1, "train.epochs": 1}
DATA: dict[Scale, dict[str, Bench]] = {
    "quick": {
        "echo": Bench(
            settings=TINY,
            made=Embedded("echo", "node", "class", "accuracy", "echo:echo", (2, 10, 3)),
            only=("Transformer", "Conv-10", "GCN in its place", "LCB"),
        )
    },
    "default": {
        "peptides-func": Bench(
            "peptides-func-small", SHORT, share=0.25, weights=200_000, paper=_paper(1),
            note="a quarter of the training graphs, 12 epochs, about 200,000 weights, so below the paper's scores",
        )
    },
    "full": {
        name: Bench(f"{name}-pure", ORDER, weights=500_000, paper=_paper(column), note="about 500,000 weights")
        for column, name in enumerate(("pascalvoc-sp", "peptides-func", "peptides-struct"))
    },
}  # fmt: skip
GRID = Grid(
    "GECO layers whose local block is replaced: X is passed on beside the replacement, as beside ÂX; nodes in the "
    "order of the file, which is what the convolutions go along. Where a number of weights is named, widths are fitted "
    "to it.",
    VARIANTS,
    DATA,
)
STUDY = grid_study(GRID)
