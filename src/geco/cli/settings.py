"""What ``geco train`` and its like are asked: words, read once, over the configurations they name. Nothing here imports
torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, is_dataclass
from typing import Annotated, Any, Literal, Required, TypedDict, TypeVar, get_args, get_type_hints

import tyro
from tyro.conf import FlagCreatePairsOff, Positional, UseAppendAction, arg

from geco.cli.options import Flag, Folder
from geco.errors import UsageError
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig
from geco.train.configured import SECTIONS, configured

__all__ = ["Files", "Named", "Seeds", "TrainOptions", "read", "read_options"]

HELP = ("-h", "--help")
T = TypeVar("T")
Named = Annotated[Positional[str], arg(metavar="[NAME]")]
Files = Annotated[UseAppendAction[tuple[str, ...]], arg(metavar="FILE|NAME")]
Seeds = Annotated[tuple[int, ...], arg(metavar="S ...", help="One run for each. NAME cannot follow the numbers.")]


@dataclass(frozen=True)
class TrainOptions:
    """Train a network, and print the test score at the best validation epoch."""

    dataset: Named = "digits"
    """Data set; without one, that of --data.name, of --config, or scikit-learn's digits."""
    config: Files = ()
    """TOML file with settings, or the name of a shipped one; flags go before it, and so do further files."""
    data_dir: Folder = None
    """Folder with raw data sets; $GECO_DATA if not given."""
    out: Folder = None
    """Run folder; runs/<data set>-<model> if not given."""
    seeds: Seeds = (0,)
    resume: Literal["never", "auto"] = "never"
    """auto goes on with what the run folder holds, if anything; with more --train.epochs also if it is finished."""
    init_from: Annotated[str, arg(metavar="RUN", help_behavior_hint="")] = ""
    """Start from the weights of another run that fit by name and shape; the head may be another."""
    jobs: int = 1
    """Seeds trained at a time, each in a process of its own; results are those of one after the other."""
    nproc: int = 1
    """Processes that share out the graphs of each batch; the result is that of one up to rounding."""
    max_restarts: int = 0
    """How often all processes of --nproc start again from the last checkpoint after one was lost."""
    timeout: float = 300.0
    """Seconds that processes of --nproc or torchrun wait for each other before they give up."""
    mlp: Flag = False
    """Train an MLP beside it, which does not see the graph and is not kept, to tell what the graph is worth."""
    dry_run: Flag = False
    """Build everything, take one step, show what it would cost, write nothing."""
    offline: Flag = False
    """Never download."""
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    def resolved(self, seed: int) -> Config:
        """Return the configuration of one run."""
        return Config(self.data, self.model, self.optim, self.train, seed, self.init_from)


def read(words: list[str]) -> TrainOptions:
    """Return the options that the words of a command line give.

    A setting is that of its flag, else of ``--config``, else of the data set's own configuration, else the default.
    """
    return read_options(TrainOptions, "geco train", words, lambda config: {"seeds": (config.seed,)})


def read_options(kind: type[T], prog: str, words: list[str], defaults: Callable[[Config], dict[str, Any]]) -> T:
    """Return the options of a command that takes the settings of `geco train`.

    Args:
        kind: dataclass of its options: ``dataset``, ``config``, ``init_from``, one for each section, and its own.
        prog: what it is called.
        words: of the command line.
        defaults: what options of its own are without their flags, by the configuration.
    """
    given = _given([word for word in words if word not in HELP], kind, prog)
    config = _configuration(given)
    settings = {"dataset": config.data.name} | {key: getattr(config, key) for key in SECTIONS}
    options = kind(**{"init_from": config.init_from, **defaults(config)} | given | settings)
    if set(words) & set(HELP):
        tyro.cli(kind, default=options, args=["--help"], prog=prog, config=[FlagCreatePairsOff])
    return options


def _configuration(given: dict[str, Any]) -> Config:
    """Return the flags over the configurations that are named."""
    return configured(_named(given), given["config"], {key: given[key] for key in SECTIONS}, "flags")


def _named(given: dict[str, Any]) -> str | None:
    """Return the data set that the words name, if they do."""
    names = {text for text in (given.get("dataset"), given["data"].get("name")) if text is not None}
    if len(names) > 1:
        named = " and ".join(map(repr, sorted(names)))
        raise UsageError(f"NAME and --data.name are different data sets, {named}; leave one out")
    return names.pop() if names else None


def _given(words: list[str], kind: type, prog: str) -> dict[str, Any]:
    """Return the options that the words give and no others, unchecked: a table to go over another.

    Every switch can be turned on and off, whatever it is without the flag.

    Example:
        >>> _given(["--model.hidden", "8", "cora", "--model.no-block-norm"], TrainOptions, "geco train")["model"]
        {'hidden': 8, 'block_norm': False}
    """
    found: dict[str, Any] = tyro.cli(_sparse(kind), args=words, prog=prog)
    return found


def _sparse(kind: Any) -> Any:
    """Return the type of dictionaries with the fields of a dataclass, each of which may be missing."""
    hints = get_type_hints(kind, include_extras=True).items()
    fields = {name: _sparse(hint) if is_dataclass(hint) else _optional(hint) for name, hint in hints}
    return TypedDict(kind.__name__, fields, total=False)  # type: ignore[operator]


def _optional(hint: Any) -> Any:
    plain = Annotated[hint, arg(help_behavior_hint="")]
    repeated = UseAppendAction in get_args(hint)  # empty without the flag; tyro cannot leave it out
    return Required[plain] if repeated else plain
