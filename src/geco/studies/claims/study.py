"""What a study is: a plan of units of work, each with a key, and what their results say together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from geco.data.registry import Embedded
from geco.pages import Block, Table
from geco.train.config import Config

if TYPE_CHECKING:
    from geco.train.engine import Trainer

__all__ = [
    "Answer", "Done", "LeftOut", "Measurement", "Plan", "Result", "Scale", "Study", "Training", "Tuning", "Unit",
    "Winner", "Work", "training_of",
]  # fmt: skip

Scale = Literal["quick", "default", "full"]
Result = dict[str, Any]  # in JSON's types


@dataclass(frozen=True)
class Training:
    """A network trained by the engine, in a run folder of its own.

    Args:
        config: of the run.
        made: how its graphs are made, if not by the name of the data set.
        share: of the training graphs that it sees.
        weights: about how many the network is to have; 0 leaves the configured width. See `fitted`.
        after: what else is measured with the best weights.
    """

    config: Config
    made: Embedded | None = None
    share: float = 1.0
    weights: int = 0
    after: Callable[[Trainer], Result] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What its result depends on, in JSON's types."""
        made = None if self.made is None else [self.made.maker, *self.made.arguments]
        after = None if self.after is None else self.after.__name__
        about = {"made": made, "share": self.share, "weights": self.weights, "after": after}
        return {"config": self.config.to_json(), **about}


@dataclass(frozen=True)
class Measurement:
    """Anything else that is measured, in one go.

    Args:
        run: called with the results so far, by key.
        settings: what its result depends on, in JSON's types.
    """

    run: Callable[[Mapping[str, Result]], Result]
    settings: dict[str, Any]


@dataclass(frozen=True)
class Tuning:
    """Settings that are found by trials, which are judged by validation alone.

    Args:
        training: whose settings all trials have, but for those that are tried.
        trials: how many.
    """

    training: Training
    trials: int

    @property
    def settings(self) -> dict[str, Any]:
        """What its result depends on, in JSON's types."""
        return {**self.training.settings, "trials": self.trials}


@dataclass(frozen=True)
class Winner:
    """A training with the settings that a tuning found.

    Args:
        of: key of the tuning, which comes before.
        training: with all other settings.
    """

    of: str
    training: Training

    @property
    def settings(self) -> dict[str, Any]:
        """What its result depends on, in JSON's types."""
        return {**self.training.settings, "of": self.of}


Work = Training | Measurement | Tuning | Winner


@dataclass(frozen=True)
class Unit:
    """A piece of work that is done once.

    Args:
        key: its name in the record and of its run folder, such as ``echo/geco/seed-0``.
        work: what is done.
        facts: what the study sorts results by.
        again: whether it is done at every call, as what it has done before is kept elsewhere.
    """

    key: str
    work: Work
    facts: dict[str, Any] = field(default_factory=dict)
    again: bool = False


def training_of(work: Work) -> Training | None:
    """Return the training that a piece of work is about, which says what data it needs; None for a measurement."""
    if isinstance(work, Measurement):
        return None
    return work if isinstance(work, Training) else work.training


@dataclass(frozen=True)
class LeftOut:
    """Something that is not studied, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Args:
        about: how the study goes at this scale, in a sentence or two for the reader of the page.
        units: in the order in which they are done.
        left_out: what cannot be studied with this version.
    """

    about: str
    units: Sequence[Unit]
    left_out: Sequence[LeftOut] = ()


@dataclass(frozen=True)
class Done:
    """A unit that is finished.

    Args:
        facts: of its plan.
        result: what it gave; ``failed`` instead of scores if a training diverged.
    """

    facts: dict[str, Any]
    result: Result


@dataclass(frozen=True)
class Answer:
    """What a study found.

    Args:
        words: that answer the question, a line for each paragraph.
        charts: for the page.
        tables: for page and terminal.
    """

    words: str
    charts: Sequence[Block]
    tables: Sequence[Table]


@dataclass(frozen=True)
class Study:
    """A question: ``plan`` says what is to be done for a scale and seeds, ``answer`` what came out of it.

    ``answer`` is given what is finished, in the order of the plan; it may be little or nothing. ``seeds`` says how many
    there are where nobody asks for others.
    """

    plan: Callable[[Scale, Sequence[int]], Plan]
    answer: Callable[[Sequence[Done]], Answer]
    seeds: Mapping[Scale, int] = field(default_factory=lambda: {"quick": 2, "default": 2, "full": 10})
