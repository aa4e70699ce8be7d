"""``geco train``: from a data set's name to a score, one run folder, any number of seeds."""

from __future__ import annotations

import os
import signal
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geco.cli.jobs import in_parallel
from geco.cli.scores import print_scores
from geco.cli.settings import TrainOptions, read
from geco.cli.stopping import asked_to_stop
from geco.console import print_line
from geco.errors import UsageError
from geco.machine import STOPS
from geco.meter import Meter
from geco.train.config import Config, to_toml
from geco.train.configured import check_seeds

if TYPE_CHECKING:
    from geco.data.dataset import GraphDataset
    from geco.distributed.launch import Place
    from geco.distributed.runtime import Workers
    from geco.train.engine import Trainer

__all__ = ["read", "train", "train_on", "train_until"]


def train(options: TrainOptions) -> None:
    """Run the command."""
    from geco.train.build import chosen, prepared

    _check(options)
    place = _place()
    if place is not None and not options.dry_run:
        from geco.cli.workers import as_worker

        return as_worker(train_until, options, place)
    if options.nproc > 1 and not options.dry_run:
        from geco.cli.workers import over_workers

        return over_workers(train_until, options)
    config = options.resolved(options.seeds[0])
    dataset = prepared(config, options.data_dir, options.offline)
    if options.dry_run:
        print(to_toml(chosen(config, dataset)))
        return _dry_run(config, dataset)
    train_on(options, dataset)


def train_on(options: TrainOptions, dataset: GraphDataset) -> None:
    """Train all seeds on a data set that is prepared, until it is asked to stop, and print what came of it."""
    with asked_to_stop() as stopped:
        train_until(options, dataset, stopped)


def train_until(
    options: TrainOptions, dataset: GraphDataset, stopped: Callable[[], bool], workers: Workers | None = None
) -> None:
    """Do the same until ``stopped`` says so, alone or as one of several processes."""
    config = options.resolved(options.seeds[0])
    out = options.out or Path("runs") / f"{options.data.name}-{options.model.name}"
    print(f"settings that are not the defaults (all are in config.toml below {out}):\n")
    print(to_toml(config, Config(seed=config.seed)) or "none\n")
    if options.jobs > 1:
        results = in_parallel(options, out, _in_process, stopped)
    else:
        results = {s: _one(options, dataset, s, out / f"seed-{s}", stopped, workers=workers) for s in options.seeds}
    mlp = _mlp(config, dataset, stopped, workers) if options.mlp else {}
    print_scores(results, dataset.info, {**results[options.seeds[0]]["baseline"], "mlp": mlp})
    _conclude(results, out, config)


def _check(options: TrainOptions) -> None:
    check_seeds(options.seeds)
    if options.jobs < 1:
        raise UsageError(f"--jobs must be at least 1, got {options.jobs}")
    if options.nproc < 1 or options.max_restarts < 0:
        got = f"got {options.nproc} and {options.max_restarts}"
        raise UsageError(f"--nproc must be at least 1 and --max-restarts at least 0, {got}")
    if options.jobs > 1 and (options.nproc > 1 or _place() is not None):
        raise UsageError("several processes for each seed train one seed after the other; leave out --jobs")


def _place() -> Place | None:
    """Return the place among several processes that torchrun gives, if it started this one."""
    if "WORLD_SIZE" not in os.environ:
        return None
    from geco.distributed.launch import Place

    return Place.of_environment()


def _one(
    options: TrainOptions,
    dataset: GraphDataset,
    seed: int,
    folder: Path,
    stopped: Callable[[], bool],
    tell: Callable[[dict[str, Any]], None] | None = None,
    workers: Workers | None = None,
) -> dict[str, Any]:
    """Train one seed and return its result; without ``tell`` with a display of its own, if this is the process that
    shows.
    """
    from geco.data.user.stored import stored_schema
    from geco.distributed.runtime import ALONE
    from geco.train.engine import Trainer
    from geco.train.record import before

    config, schema = options.resolved(seed), stored_schema(options.data.name)
    about = schema.to_json() if schema else None
    trainer = Trainer(
        config, dataset, folder, resume=options.resume == "auto", schema=about, stop=stopped, workers=workers or ALONE
    )
    if not trainer.workers.first:
        return trainer.fit()
    if seed == options.seeds[0]:
        _introduce(trainer, dataset)
    if trainer.done:
        print_line(f"{folder} is finished already")
    elif trainer.state.epoch or trainer.state.batch:
        print_line(f"going on in {folder} at epoch {trainer.state.epoch + 1}, batch {trainer.state.batch + 1}")
    if tell is not None:
        trainer.tell = tell
        return trainer.fit()
    with Meter(f"seed {seed}", config.train.epochs, trainer.state.epoch, before(folder)[1]) as meter:
        trainer.tell, trainer.pulse = meter.show, meter.pulse
        return trainer.fit()


def _in_process(
    options: TrainOptions, seed: int, folder: Path, tell: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Train one seed in a process of its own."""
    from geco.train.build import prepared

    dataset = prepared(options.resolved(seed), options.data_dir, options.offline)
    with asked_to_stop([number for number in STOPS if number != signal.SIGINT], b"") as stopped:
        return _one(options, dataset, seed, folder, stopped, tell)


def _introduce(trainer: Trainer, dataset: GraphDataset) -> None:
    """Print what is about to be trained, and what of the data the network does not use."""
    from geco.train.summary import about_data, about_network, expected, period
    from geco.train.unused import warn_unused

    config = trainer.config
    print("\n".join([about_data(dataset, config.data.split), *about_network(trainer)]))
    warn_unused(trainer.unused, config.model.name, trainer.info.name)
    if not trainer.done:
        seconds, rest = expected(trainer), config.train.epochs - trainer.state.epoch
        print(f"about {period(seconds)} an epoch, {period(seconds * rest)} for {rest} epochs\n", flush=True)


def _mlp(
    config: Config, dataset: GraphDataset, stopped: Callable[[], bool], workers: Workers | None
) -> dict[str, float]:
    """Return what an MLP with the same settings scores, by the features of the nodes alone."""
    from geco.distributed.runtime import ALONE
    from geco.train.engine import Trainer

    model, data = replace(config.model, name="mlp", diffusion=0), replace(config.data, encodings=())
    plain = replace(config, model=model, data=data, init_from="")
    trainer = Trainer(plain, dataset, stop=stopped, workers=workers or ALONE)
    if not trainer.workers.first:
        return trainer.fit()
    with Meter("mlp", config.train.epochs) as meter:
        trainer.tell = meter.show
        return trainer.fit()


def _dry_run(config: Config, dataset: GraphDataset) -> None:
    from geco.train.dry_run import estimate

    for line in estimate(config, dataset):
        print(line)


def _conclude(results: dict[int, dict[str, Any]], out: Path, config: Config) -> None:
    metric = next(iter(results.values()))["metric"]
    tests = [r["test"] for r in results.values()]
    spread = (
        f" ± {statistics.stdev(tests):.4f} (sample standard deviation) over {len(tests)} seeds"
        if len(tests) > 1
        else ""
    )
    print(f"\n{config.data.name}, {config.model.name}: test {metric} {statistics.mean(tests):.4f}{spread}")
    print(f"kept in {out}")
