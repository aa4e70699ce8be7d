"""`fit`: a training from Python, of the loop, the settings and the run folder of ``geco train``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch_geometric.data import Data

from geco.console import Bar
from geco.data.cache import Cache
from geco.data.dataset import GraphDataset
from geco.data.user.fields import graphs_of
from geco.data.user.objects import from_pyg
from geco.data.user.schema import OwnOptions, Schema
from geco.data.user.stored import stored_schema
from geco.errors import UsageError
from geco.store import has_entry
from geco.train.build import encoded, prepared
from geco.train.config import Config, from_table
from geco.train.configured import check_seeds, configured, over
from geco.train.engine import Trainer
from geco.train.kept import Kept, write_data
from geco.train.metrics import check_metric
from geco.train.spelling import in_python, table
from geco.train.trained_run import Run, load_run, run_of
from geco.train.unused import say_unused

__all__ = ["fit"]

Task = Literal["class", "labels", "values", "link"]
WHERE = "fit"  # in messages, where settings come from
OWN = ("task", "metric", "fractions", "split_seed", "directed")


@dataclass(frozen=True)
class _Source:
    """What is trained on: a data set, how its files were read, and whether it has no name to find it by."""

    dataset: GraphDataset
    schema: Schema | None
    unnamed: bool


def fit(
    data: str | Data | Sequence[Data] | GraphDataset,
    valid: Sequence[Data] | None = None,
    test: Sequence[Data] | None = None,
    *,
    task: Task | None = None,
    metric: str | None = None,
    fractions: tuple[float, float, float] = (0.8, 0.1, 0.1),
    split_seed: int = 0,
    directed: bool = False,
    seeds: Sequence[int] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    config: Config | str | Path | None = None,
    schema: Schema | None = None,
    data_dir: str | Path | None = None,
    **settings: Any,
) -> Run:
    """Train a network and return it, with its best weights by validation, its scores and ``predict``.

    It is `geco train`: equal data, settings and seeds give equal weights, bit by bit. A setting goes by the last word
    of its flag (``hidden=64`` is ``--model.hidden 64``, ``epochs``, ``lr``, ``encodings``, ...), the network by
    ``model="gcn"``, the optimiser by ``optim="adam"``. On a terminal and in a notebook a bar shows how far it is.

    Labels of a PyG `Data` are understood as those of own files: whole numbers are classes, several columns of zeros and
    ones yes-or-no labels, other numbers values, brought to one size for training and predicted in their units; -1 and
    NaN are missing. x and ``edge_attr`` of an integer type hold categories.

    Args:
        data: a PyG `Data` with labels for its nodes, split by its masks or else at random; a list or `Dataset` of
            them with labels for graphs or nodes, split at random; the name of a data set; or a `GraphDataset`.
        valid: where ``data`` is the graphs to train on, those to validate on.
        test: the same, those to test on.
        task: what y is, if it is understood wrongly: ``class``, ``labels`` or ``values``; ``link`` needs no y and asks
            which nodes of one graph are linked.
        metric: name of the score, if not accuracy, ap, mae or auroc for class, labels, values or links.
        fractions: of training, validation and test, where a split is made.
        split_seed: of that split.
        directed: for links: whether u to v is another link than v to u.
        seeds: a run for each; the seed of ``config``, else 0, if not given.
        out: run folder, as of `geco train`, for `load_run` and the commands; without it no file is written.
        resume: go on with what ``out`` holds, if anything.
        config: settings below the keywords: a `Config`, a TOML file or the name of a shipped one.
        schema: how the files of a `GraphDataset` were read, from `geco.data.user.read.read_own`; `geco predict` then
            reads new ones.
        data_dir: folder with raw files of named data sets; ``$GECO_DATA`` if not given.
        settings: by keyword, see above.

    Example:
        >>> x, edges = torch.randn(60, 5), torch.randint(0, 60, (2, 240))
        >>> graph = Data(x=x, edge_index=edges, y=(x[:, 0] > 0).long())
        >>> run = fit(graph, epochs=5, hidden=8)
        >>> run.predict(graph).shape, sorted(run.scores["mean"])
        (torch.Size([60, 2]), ['test', 'valid'])
    """
    own = {"task": task, "metric": metric, "fractions": fractions, "split_seed": split_seed, "directed": directed}
    with in_python(), _undisturbed():
        given = table(settings, others=("seeds", "out", "resume", "config", "data_dir", *OWN))
        base = _configured(data, config, given)
        chosen = _seeds(seeds, base)
        if resume and out is None:
            raise UsageError("resume=True goes on in a run folder; give out=")
        if isinstance(data, str | GraphDataset):
            source = _known(data, {**own, "valid": valid, "test": test}, schema, base, data_dir)
        else:
            source = _own(data, valid, test, own, schema)
        if source.unnamed:
            base = replace(base, data=replace(base.data, name=source.dataset.info.name))
        return _trained(source, base, chosen, None if out is None else Path(out), resume)


def _configured(data: Any, config: Config | str | Path | None, given: dict[str, Any]) -> Config:
    """Return keywords over a configuration, over that of a named data set, over the defaults."""
    if isinstance(config, Config):
        named = {**given["data"], "name": data} if isinstance(data, str) else given["data"]
        return from_table({**given, "data": named}, config, WHERE)
    files = [] if config is None else [str(config)]
    if isinstance(data, str):
        return configured(data, files, given, WHERE)
    return from_table(given, over(Config(), files), WHERE)


def _seeds(seeds: Sequence[int] | None, config: Config) -> tuple[int, ...]:
    if seeds is None:
        return (config.seed,)
    if isinstance(seeds, int | str) or not all(isinstance(seed, int) and seed >= 0 for seed in seeds):
        raise UsageError(f"seeds must be whole numbers from 0 in a list, such as (0, 1, 2); got {seeds!r}")
    check_seeds(seeds)
    return tuple(sorted(seeds))


def _known(
    data: str | GraphDataset, own: dict[str, Any], schema: Schema | None, config: Config, data_dir: str | Path | None
) -> _Source:
    """Return a data set that says itself what is asked; to say it again is refused."""
    named = isinstance(data, str)
    what = f"{data!r}, a data set that has a name," if named else "a GraphDataset"
    plain = {"fractions": (0.8, 0.1, 0.1), "split_seed": 0, "directed": False}
    asked = [name for name, value in own.items() if value != plain.get(name)]
    if asked:
        raise UsageError(f"{asked[0]}= is for PyG Data; {what} says itself what is asked and how it is split")
    if isinstance(data, str):
        if schema is not None:
            raise UsageError(f"schema= is for a GraphDataset from read_own; {what} has its own, leave it out")
        return _Source(prepared(config, data_dir), stored_schema(data), unnamed=False)
    return _Source(data, schema, unnamed=True)


def _own(data: Any, valid: Any, test: Any, own: dict[str, Any], schema: Schema | None) -> _Source:
    """Return PyG graphs as a data set."""
    if schema is not None:
        raise UsageError("schema= is for a GraphDataset from read_own, got PyG Data; leave it out")
    graphs, parts = _parts(data, valid, test)
    if own["metric"] is not None:
        check_metric(own["metric"])
    options = OwnOptions(seed=own["split_seed"], **{name: value for name, value in own.items() if name != "split_seed"})
    return _Source(*from_pyg(graphs, options, parts), unnamed=True)


def _parts(data: Any, valid: Any, test: Any) -> tuple[list[Data], np.ndarray | None]:
    """Return all graphs, and which part each is of where that is given."""
    lists = [graphs_of(graphs, WHERE) for graphs in (data, valid, test) if graphs is not None]
    if len(lists) == 1:
        return lists[0], None
    if len(lists) == 2:
        raise UsageError(
            f"{'valid' if test is None else 'test'}= was given alone; give valid= and test=, or none of them"
        )
    return list(chain.from_iterable(lists)), np.repeat(range(3), [len(graphs) for graphs in lists])


def _trained(source: _Source, config: Config, seeds: tuple[int, ...], out: Path | None, resume: bool) -> Run:
    """Train every seed, one after the other."""
    data = (lambda: source.dataset) if source.unnamed else None
    with contextlib.nullcontext() if not source.unnamed else Cache.temporary() as cache:
        dataset = encoded(source.dataset, config, cache) if source.unnamed else source.dataset
        try:
            kept = [_one(source, dataset, replace(config, seed=seed), out, resume, seed == seeds[0]) for seed in seeds]
        except KeyboardInterrupt as stop:
            if out is not None:
                stop.add_note(f"what was trained is in {out}; fit(..., out={str(out)!r}, resume=True) goes on")
            raise
        finally:
            if out is not None and source.unnamed and any(has_entry(out / f"seed-{seed}" / "best") for seed in seeds):
                write_data(out / "data", source.dataset)
    return load_run(out) if out is not None else run_of(tuple(kept), data)


def _one(source: _Source, dataset: GraphDataset, config: Config, out: Path | None, resume: bool, first: bool) -> Kept:
    """Train a seed and return what is kept of it."""
    folder = None if out is None else out / f"seed-{config.seed}"
    about = source.schema.to_json() if source.schema else None
    trainer = Trainer(config, dataset, folder, resume=resume, schema=about)
    if first:
        say_unused(trainer.unused, config.model.name, trainer.info.name)
    with Bar(f"seed {config.seed}", config.train.epochs, trainer.state.epoch) as bar:
        trainer.tell = bar.show
        result = trainer.fit()
    kept = Kept(folder)
    if folder is None:
        kept.best, kept.history, kept.timing, kept.result = trainer.kept, trainer.state.history, trainer.timing, result
    return kept


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Leave torch's random numbers, threads and choice of algorithms as they were."""
    threads, exact = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    try:
        with torch.random.fork_rng(range(torch.cuda.device_count())):
            yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(exact)
