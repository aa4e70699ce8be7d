"""What is tried: a range or a list of values for each setting, in a table for each family of networks.

The names are those of `geco train`'s settings. A file of the user's replaces the whole table (`geco.tune.space_file`).
Nothing here imports torch or Optuna.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from geco.train.settings import ModelConfig

__all__ = ["Choice", "Real", "Setting", "Space", "Whole", "default_space"]

DIGITS = 4  # of a number that is drawn: enough to try, few enough to read


@dataclass(frozen=True)
class Real:
    """Numbers from low to high; ``log`` draws factors evenly, ``step`` leaves out what is between its multiples.

    Example:
        >>> Real(0.0, 0.5, step=0.25).holds(0.25), Real(0.0, 0.5).plain(0.1234567)
        (True, 0.1235)
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None

    def holds(self, value: Any) -> bool:
        """Tell whether a value is one of them."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            return False
        return self.step is None or _multiple(value - self.low, self.step)

    def plain(self, value: float) -> float:
        """Return a drawn number in few digits, still within the range."""
        return min(self.high, max(self.low, float(f"{value:.{DIGITS}g}")))


@dataclass(frozen=True)
class Whole:
    """Whole numbers from low to high, as `Real`."""

    low: int
    high: int
    log: bool = False
    step: int = 1

    def holds(self, value: Any) -> bool:
        """Tell whether a value is one of them."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and self.low <= value <= self.high and (value - self.low) % self.step == 0


@dataclass(frozen=True)
class Choice:
    """Any of these values."""

    values: tuple[Any, ...]

    def holds(self, value: Any) -> bool:
        """Tell whether a value is one of them."""
        return value in self.values


Setting = Real | Whole | Choice
Space = Mapping[str, Setting]

COMMON: Space = {
    "optim.lr": Real(3e-4, 3e-2, log=True),
    "optim.weight_decay": Real(1e-6, 1e-1, log=True),
    "model.hidden": Choice((32, 64, 128, 256)),
    "model.dropout": Real(0.0, 0.8, step=0.1),
    "model.input_dropout": Real(0.0, 0.5, step=0.1),
}
SHALLOW: Space = {**COMMON, "model.layers": Whole(1, 4)}
DEEP: Space = {**COMMON, "model.layers": Whole(2, 8), "model.hidden": Choice((48, 64, 96, 128))}
HEADS: Space = {"model.heads": Choice((1, 2, 4, 8))}
GECO: Space = {
    **SHALLOW,
    "model.order": Whole(1, 3),
    "model.adjacency": Choice(("sym", "row")),
    "model.ffn_ratio": Choice((0.5, 1.0, 2.0)),
}
PLAIN: Space = {**SHALLOW, "model.block_norm": Choice((True, False))}
ATTENTION: Space = {**SHALLOW, **HEADS}
FAMILIES: dict[str, Space] = {  # by --model.name; those that are not here have SHALLOW
    "geco": GECO,
    "gcn": PLAIN,
    "sage": PLAIN,
    "gat": {**PLAIN, **HEADS},
    "transformer": ATTENTION,
    "gps": ATTENTION,
    "gps-performer": ATTENTION,
    "polynormer": ATTENTION,
}
MIXERS: dict[str, Space] = {  # of a hybrid, on top of DEEP
    "geco": {"model.order": Whole(1, 3)},
    "attention": {**HEADS, "model.mixer_dropout": Real(0.0, 0.5, step=0.1)},
    "performer": HEADS,
}
GRAPHS: Space = {"model.pool": Choice(("mean", "sum", "max"))}  # where whole graphs are predicted


def default_space(model: ModelConfig, level: str) -> Space:
    """Return what is tried of a network.

    Args:
        model: its name and, of a hybrid, its mixer.
        level: what is predicted: node, graph or link.

    Example:
        >>> sorted(set(default_space(ModelConfig(), "graph")) - set(default_space(ModelConfig(), "node")))
        ['model.pool']
    """
    family = {**DEEP, **MIXERS.get(model.mixer, {})} if model.name == "hybrid" else FAMILIES.get(model.name, SHALLOW)
    return {**family, **(GRAPHS if level == "graph" else {})}


def _multiple(value: float, step: float) -> bool:
    count = value / step
    return math.isclose(count, round(count), rel_tol=0, abs_tol=1e-6)
