"""``geco data import``: a data set of a user's own files, without code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from geco.cli.options import Flag, Folder, use_cache
from geco.console import print_line
from geco.data.user.schema import OwnOptions
from geco.errors import UsageError

__all__ = ["import_files"]


def import_files(
    path: Annotated[Positional[Path], arg(metavar="PATH", help_behavior_hint="")],
    /,
    name: Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")] = None,
    options: Annotated[OwnOptions, OmitArgPrefixes, arg(name="")] = OwnOptions(),  # noqa: B008
    cache_dir: Folder = None,
    replace: Flag = False,
    dry_run: Flag = False,
) -> None:
    """Make a data set of your own files: show how they were understood, then keep them under a name.

    Args:
        path: a folder with nodes.csv and edges.csv, a table with a SMILES column, or an .npz, .pt or .safetensors file.
        name: for the other commands; not needed with --dry-run.
        options: how to read the files.
        cache_dir: folder for prepared data; $GECO_CACHE or ~/.cache/geco if not given.
        replace: keep the data set in place of an earlier one of that name, which is refused otherwise.
        dry_run: only show how the files were understood.
    """
    from geco.cli.main import COMMANDS
    from geco.data.user.names import read_names
    from geco.data.user.read import read_own
    from geco.data.user.stored import check_free, store
    from geco.train.metrics import check_metric

    use_cache(cache_dir)
    if name is None and not dry_run:
        raise UsageError("give the data set a name: --name NAME; or only look at the files: --dry-run")
    if name is not None and not dry_run:
        check_free(name, replace)
    if options.metric is not None:
        check_metric(options.metric)
    dataset, schema = read_own(path, options)
    check_metric(schema.metric, schema.level, schema.target, len(schema.names))
    print(schema.summary())
    print(
        f"graphs: {len(dataset):,}; nodes: {dataset.num_nodes:,}; edges, each direction counted: {dataset.num_edges:,}"
    )
    if name is None or dry_run:
        print_line("nothing was kept; correct with flags (--help shows them), or leave out --dry-run and give a --name")
        return
    print_line(f"kept as {name} in {store(dataset, name, schema, replace, read_names(path, schema))}")
    print_line(
        "next: " + " or ".join(f"`geco {command} {name}`" for command in ("data info", "train") if command in COMMANDS)
    )
