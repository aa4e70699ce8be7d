"""``geco eval`` and ``geco predict``: a trained network put to use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from geco.cli.options import Flag, Folder, use_cache
from geco.cli.predictions import as_bytes, check_output, link_table, tabulate
from geco.cli.scores import print_scores
from geco.console import print_line
from geco.errors import NumericalError, UsageError

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from geco.data.dataset import GraphDataset
    from geco.data.user.schema import Schema
    from geco.train.trained_run import Run

__all__ = ["evaluate", "predict"]

RunPath = Annotated[Positional[Path], arg(metavar="RUN", help_behavior_hint="")]


def evaluate(run: RunPath, /, data_dir: Folder = None, cache_dir: Folder = None, offline: Flag = False) -> None:
    """Score a trained network, or all seeds of one, on the validation and test parts of its data set.

    Args:
        run: folder of `geco train`.
        data_dir: folder with raw data sets; $GECO_DATA if not given.
        cache_dir: folder for prepared data; $GECO_CACHE or ~/.cache/geco if not given.
        offline: never download.
    """
    use_cache(cache_dir)
    from geco.train.targets import GUESS, constant
    from geco.train.trained_run import load_run, seed_folders

    runs = [load_run(folder) for folder in seed_folders(run)]
    info, config = runs[0].info, runs[0].config
    dataset = runs[0].training_data(data_dir, offline)
    runs[0].check(dataset)
    results = {loaded.config.seed: _scored(loaded, dataset) for loaded in runs}
    guess = {GUESS[info.target]: constant(dataset, config.data.split)} if info.target in GUESS else {}
    print_scores(results, info, guess, each=True)


def _scored(loaded: Run, dataset: GraphDataset) -> dict[str, Any]:
    """Return the scores of a network on validation and test, and those of each target."""
    from geco.train.batches import serve
    from geco.train.build import device_of
    from geco.train.tasks import by_target, score

    device = device_of(loaded.config)
    batches = serve(dataset, loaded.config, device)
    outputs = batches.outputs(loaded.network.to(device), ("valid", "test"))
    named = {part: by_target(found, loaded.info) for part, found in outputs.items()}
    return {**{part: score(found, loaded.info) for part, found in outputs.items()}, "targets": named}


def predict(
    run: RunPath,
    /,
    data: Annotated[Path, arg(metavar="PATH", help_behavior_hint="")],
    output: Annotated[Path, arg(metavar="OUT.csv", aliases=["-o"], help_behavior_hint="")],
    pairs: Annotated[Path | None, arg(metavar="PAIRS.csv", help_behavior_hint="")] = None,
) -> None:
    """Predict for new files: those of the form the network was trained on, labels left out or not; graphs of any size.

    Molecules that cannot be read have no prediction, and the reason in the column problem.

    Args:
        run: folder of `geco train`.
        data: files as `geco data import` reads them; for networks on molecules, a table with a smiles column.
        output: .csv, .csv.gz or .parquet to write: a row for each node or graph, with its id, what is predicted, and
            probabilities.
        pairs: for networks on links, a table with the columns source and target: pairs of nodes to score. All edges of
            the files pass messages then.
    """
    check_output(output)
    from geco.data.user.read import read_new
    from geco.store import write_file
    from geco.train.trained_run import load_run, seed_folders

    loaded, seeds = load_run(run), len(seed_folders(run))
    if seeds > 1:
        print_line(f"of {seeds} seeds in {run}, seed {loaded.config.seed} predicts")
    schema = loaded.reading(data)
    if (loaded.info.level == "link") != (pairs is not None):
        wanted = "give the pairs of nodes to score: --pairs PAIRS.csv" if pairs is None else "leave out --pairs"
        raise UsageError(f"{run} predicts {loaded.info.level}s; {wanted}")
    if pairs is not None:
        table = _link_scores(loaded, data, pairs, schema)
        write_file(output, as_bytes(table, output))
        print_line(f"{len(table):,} predictions in {output}")
        return
    new = read_new(data, schema)
    found = _finite(loaded.predict(new.dataset), data)
    table = tabulate(loaded.info, new.ids, new.failed, found.numpy())
    write_file(output, as_bytes(table, output))
    failed = f"; {len(new.failed):,} rows could not be read, see their column problem" if new.failed else ""
    print_line(f"{len(new.ids) - len(new.failed):,} predictions in {output}{failed}")


def _link_scores(loaded: Run, data: Path, pairs: Path, schema: Schema) -> pd.DataFrame:
    """Return a row for each pair of nodes of a table, with its probability."""
    import torch

    from geco.data.user.read import pairs as read_pairs
    from geco.data.user.read import read_own

    dataset, _ = read_own(data, schema=schema)
    ends, names = read_pairs(data, pairs, schema)
    return link_table(names, _finite(loaded.predict_links(dataset, torch.from_numpy(ends)), data).numpy())


def _finite(found: Tensor, data: Path) -> Tensor:
    if not bool(found.isfinite().all()):
        raise NumericalError(
            f"the network predicts NaN or infinite values for {data}; nothing was written: train it again"
        )
    return found
