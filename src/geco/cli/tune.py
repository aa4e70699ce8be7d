"""``geco tune``: from a data set's name to settings that validate well, and what they score over many seeds."""

from __future__ import annotations

import contextlib
import math
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from filelock import FileLock, Timeout
from tyro.conf import arg

from geco.cli.options import Flag, Folder
from geco.cli.settings import Files, Named, Seeds, TrainOptions, read_options
from geco.console import print_line
from geco.errors import UsageError
from geco.meter import Bar
from geco.train.config import Config, DataConfig, ModelConfig, OptimConfig, TrainConfig
from geco.train.configured import check_seeds

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from geco.tune.tuner import Tuner

__all__ = ["TuneOptions", "read", "tune"]

File = Annotated[Path | None, arg(metavar="FILE", help_behavior_hint="")]


@dataclass(frozen=True)
class TuneOptions:
    """Try settings in many trainings that are judged by validation alone, then train the best over several seeds.

    The same command goes on where a study was stopped, and joins one that runs.
    """

    dataset: Named = "digits"
    """Data set; without one, that of --data.name, of --config, or scikit-learn's digits."""
    trials: int = 50
    """How many settings are tried, all workers together."""
    config: Files = ()
    """TOML file with the settings that are not tried, or the name of a shipped one; flags go before it."""
    space: File = None
    """TOML file with what is tried; a table for the network if not given."""
    show_space: Flag = False
    """Print what would be tried, as such a file, and end."""
    data_dir: Folder = None
    """Folder with raw data sets; $GECO_DATA if not given."""
    out: Folder = None
    """Folder of the study; runs/<data set>-<model>-tune if not given."""
    seed: int = 0
    """Of what is drawn, and of every trial."""
    seeds: Seeds = tuple(range(10))
    pruner: Literal["median", "hyperband", "none"] = "median"
    """What ends trials early that validate worse than others at the same epoch."""
    metric: str = ""
    """Validation score that counts; the data set's if not given."""
    timeout: float = 0.0
    """Seconds after which no trial goes on and the best so far is trained; 0 is no limit."""
    trial_timeout: float = 0.0
    """Seconds a trial may take; 0 is no limit."""
    trial_memory: float = 0.0
    """GiB a trial may take, of the process with its data or of the GPU; 0 is no limit."""
    init_from: Annotated[str, arg(metavar="RUN", help_behavior_hint="")] = ""
    """Start each training from the weights of another run that fit by name and shape."""
    offline: Flag = False
    """Never download."""
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    @property
    def resolved(self) -> Config:
        """The settings of every trial, but for those that are tried."""
        return Config(self.data, self.model, self.optim, self.train, self.seed, self.init_from)


def read(words: list[str]) -> TuneOptions:
    """Return the options that the words of a command line give, settings as `geco train` finds them."""
    return read_options(TuneOptions, "geco tune", words, lambda config: {"seed": config.seed})


def tune(options: TuneOptions) -> None:
    """Run the command."""
    _check(options)
    from geco.data import load_dataset
    from geco.tune.space import default_space
    from geco.tune.space_file import read_space, space_toml
    from geco.tune.trial import Limits, check_limits
    from geco.tune.tuner import Plan, Tuner, with_metric

    config = options.resolved
    space = None if options.space is None else read_space(options.space, config)
    limits = Limits(options.trial_timeout, options.trial_memory)
    check_limits(limits, config)
    dataset = load_dataset.load(config.data.name, options.data_dir, offline=options.offline)
    space = default_space(config.model, dataset.info.level) if space is None else space
    if options.show_space:
        return print(space_toml(space), end="")
    dataset = with_metric(dataset, options.metric)
    out = options.out or Path("runs") / f"{config.data.name}-{config.model.name}-tune"
    plan = Plan(config, space, options.trials, options.pruner, limits, options.timeout)
    _work(Tuner(plan, dataset, out), options)


def _check(options: TuneOptions) -> None:
    check_seeds(options.seeds)
    if options.trials < 1:
        raise UsageError(f"--trials must be at least 1, got {options.trials}")
    if not (math.isfinite(options.timeout) and options.timeout >= 0):
        raise UsageError(f"--timeout must be a finite number of seconds, 0 for no limit; got {options.timeout}")


def _work(tuner: Tuner, options: TuneOptions) -> None:
    """Train trials, then the winner."""
    from geco.cli.stopping import asked_to_stop
    from geco.tune.page import write_page
    from geco.tune.record import write_record
    from geco.tune.winner import winner_toml

    print_line(f"{options.trials} trials by validation {tuner.dataset.info.metric}, in {tuner.folder}")

    @contextlib.contextmanager
    def show(number: int) -> Iterator[Callable[[dict[str, Any]], None]]:
        with Bar(f"trial {number + 1} of {options.trials}", options.train.epochs) as bar:
            yield bar.show

    def tell(trial: FrozenTrial) -> None:
        print_line(tuner.line(trial))
        write_page(tuner, _command())

    with asked_to_stop() as stopped:
        tuner.run(stopped, show, tell)
    best = tuner.best
    config = tuner.config(best.params)
    write_page(tuner, _command())
    write_record(tuner, _command())
    print_line(f"{tuner.said(best)}; {tuner.folder / 'best.toml'}, {tuner.folder / 'page.html'}")
    _train_winner(options, tuner, config, winner_toml(config, tuner.said(best)))


def _train_winner(options: TuneOptions, tuner: Tuner, config: Config, toml: str) -> None:
    """Write the winner's settings and train it as `geco train` does, unless another worker is at it."""
    from geco.cli.train import train_on
    from geco.store import write_file
    from geco.train.build import encoded
    from geco.tune.winner import make_room

    lock = FileLock(tuner.folder / ".best.lock", timeout=0)
    try:
        with lock:
            out = tuner.folder / "best"
            write_file(tuner.folder / "best.toml", toml.encode())
            make_room(out, config)
            plain = TrainOptions(
                dataset=config.data.name, data_dir=options.data_dir, out=out, seeds=options.seeds, resume="auto",
                init_from=config.init_from, offline=options.offline, data=config.data, model=config.model,
                optim=config.optim, train=config.train,
            )  # fmt: skip
            train_on(plain, encoded(tuner.dataset, config))
    except Timeout:
        print_line(f"another worker trains the best settings in {tuner.folder / 'best'}")


def _command() -> str:
    return shlex.join(["geco", *sys.argv[1:]])
