"""``geco train``: from a data set's name to a score, one run folder, any number of seeds."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geco.cli.settings import TrainOptions, read
from geco.console import Meter, print_line, print_table
from geco.errors import UsageError
from geco.machine import STOPS
from geco.train.config import Config, to_toml

if TYPE_CHECKING:
    from geco.data.dataset import GraphDataset

__all__ = ["read", "train"]


def train(options: TrainOptions) -> None:
    """Run the command."""
    from geco.train.build import chosen, prepared

    if not options.seeds or len(set(options.seeds)) != len(options.seeds):
        raise UsageError(f"--seeds must be different numbers, at least one; got {options.seeds}")
    config = options.resolved(options.seeds[0])
    out = options.out or Path("runs") / f"{options.data.name}-{options.model.name}"
    dataset = prepared(config, options.data_dir, options.offline)
    print(to_toml(chosen(config, dataset)))
    if options.dry_run:
        return _dry_run(config, dataset)
    results = {}
    with _signals() as stopped:
        for seed in options.seeds:
            results[seed] = _one(
                options.resolved(seed), dataset, out / f"seed-{seed}", options.resume == "auto", stopped
            )
    _report(results, out, config)


def _one(
    config: Config, dataset: GraphDataset, folder: Path, resume: bool, stopped: Callable[[], bool]
) -> dict[str, Any]:
    from geco.data.user.stored import stored_schema
    from geco.train.engine import Trainer

    meter = Meter(f"seed {config.seed}", config.train.epochs)
    schema = stored_schema(config.data.name)
    about = schema.to_json() if schema else None
    trainer = Trainer(config, dataset, folder, resume=resume, schema=about, tell=meter.show, stop=stopped)
    if trainer.done:
        print_line(f"{folder} is finished already")
    elif trainer.state.epoch or trainer.state.batch:
        print_line(f"going on in {folder} at epoch {trainer.state.epoch + 1}, batch {trainer.state.batch + 1}")
    with meter:
        return trainer.fit()


def _dry_run(config: Config, dataset: GraphDataset) -> None:
    from geco.train.dry_run import estimate

    for line in estimate(config, dataset):
        print(line)


def _report(results: dict[int, dict[str, Any]], out: Path, config: Config) -> None:
    metric = next(iter(results.values()))["metric"]
    rows = [["seed", f"valid {metric}", f"test {metric}", "best epoch", "parameters"]]
    for seed, r in results.items():
        rows.append([str(seed), f"{r['valid']:.4f}", f"{r['test']:.4f}", str(r["epoch"]), f"{r['parameters']:,}"])
    print_table(rows)
    tests = [r["test"] for r in results.values()]
    spread = (
        f" ± {statistics.stdev(tests):.4f} (sample standard deviation) over {len(tests)} seeds"
        if len(tests) > 1
        else ""
    )
    print(f"\n{config.data.name}, {config.model.name}: test {metric} {statistics.mean(tests):.4f}{spread}")
    print(f"kept in {out}")


@contextlib.contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Turn the first request to stop into a flag that the loop asks for; a second one ends at once."""
    seen: list[int] = []
    owner = os.getpid()

    def note(number: int, _frame: object) -> None:
        if os.getpid() != owner:  # a process that makes batches: it ends when the owner does
            return
        if seen and number == signal.SIGINT:
            raise KeyboardInterrupt
        if seen:
            sys.exit(128 + signal.SIGTERM)
        seen.append(number)
        os.write(2, b"stopping after this step; once more to stop at once\n")  # print is not safe in a handler

    before = {number: signal.signal(number, note) for number in STOPS}
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
