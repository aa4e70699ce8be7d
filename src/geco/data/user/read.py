"""A user's own files without code: ``geco data import PATH --name NAME``, then ``geco train NAME``.

A path is a folder of tables (`geco.data.user.graphs`), a table of molecules (`geco.data.user.molecules`), or a file of
arrays (`geco.data.user.arrays`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geco.data.dataset import GraphDataset
from geco.data.user.arrays import ARRAY_SUFFIXES, count_nodes, read_arrays
from geco.data.user.columns import assign_known
from geco.data.user.graphs import read_graphs, read_pairs, row_names
from geco.data.user.links import pair_sheet
from geco.data.user.molecules import read_molecules, read_new_molecules, row_ids
from geco.data.user.schema import OwnOptions, Schema
from geco.data.user.tables import SUFFIXES, read_table
from geco.errors import DataError

__all__ = ["NewFiles", "ids", "pairs", "read_new", "read_own"]


@dataclass(frozen=True)
class NewFiles:
    """Files to predict for.

    Args:
        dataset: what could be read.
        ids: of every row, nodes or graphs, readable or not.
        failed: what is wrong with rows that could not be read, by their number from 0.
    """

    dataset: GraphDataset
    ids: list[str]
    failed: dict[int, str]


def read_own(
    path: str | Path, options: OwnOptions | None = None, schema: Schema | None = None
) -> tuple[GraphDataset, Schema]:
    r"""Read a user's files; what is wrong in them is reported with file, line and column.

    Args:
        path: a folder with nodes.csv and edges.csv, a table with a SMILES column, or an .npz, .pt or .safetensors file.
        options: flags, where the usual names of columns are not used or types are guessed wrongly.
        schema: of files that were read before: new ones get the same columns, categories and classes, and may lack
            labels.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "nodes.csv").write_text("id,age,kind\na,3,cat\nb,5,dog\nc,4,cat\n")
        >>> _ = (folder / "edges.csv").write_text("source,target\na,b\nb,c\n")
        >>> dataset, schema = read_own(folder, OwnOptions(label=("kind",)))
        >>> dataset[0].edge_index.tolist(), dataset[0].y.tolist(), schema.names
        ([[0, 1, 1, 2], [1, 0, 2, 1]], [0, 1, 0], ('cat', 'dog'))
    """
    path, options = Path(path), options or OwnOptions()
    form = _form(path, schema)
    forms: dict[str, Callable[[Path, OwnOptions, Schema | None], tuple[GraphDataset, Schema]]]
    forms = {"tables": read_graphs, "molecules": read_molecules, "arrays": read_arrays}
    return forms[form](path, options, schema)


def read_new(path: str | Path, schema: Schema) -> NewFiles:
    """Read files to predict for; of molecules, those that can be read.

    Args:
        path: as given to `read_own`.
        schema: of the data set that the network was trained on.
    """
    path = Path(path)
    if _form(path, schema) == "molecules":
        return NewFiles(*read_new_molecules(path, schema))
    return NewFiles(read_own(path, schema=schema)[0], ids(path, schema), {})


def _form(path: Path, schema: Schema | None) -> str:
    """Return what a path holds, which must be what the schema is of."""
    if not path.exists():
        raise DataError(f"{path} does not exist")
    if path.is_dir():
        form = "tables"
    elif path.name.split(".")[0] in ("nodes", "edges", "graphs"):
        raise DataError(f"{path} is one of several tables; give their folder: {path.parent}")
    elif path.name.endswith(SUFFIXES):
        form = "molecules"
    elif path.suffix in ARRAY_SUFFIXES:
        form = "arrays"
    else:
        known = ", ".join((*SUFFIXES, *ARRAY_SUFFIXES))
        raise DataError(
            f"{path}: a folder with nodes.csv and edges.csv, or a file that ends in one of {known} is wanted"
        )
    if schema is not None and schema.form != form:
        raise DataError(f"{path} holds {form}, the data set was made from {schema.form}")
    return form


def ids(path: str | Path, schema: Schema) -> list[str]:
    """Return the name of each row that a network trained with this schema predicts: node ids, graph names, those of
    molecules if the file has any, or their SMILES.

    Args:
        path: as given to `read_own`.
        schema: of the data set; nodes of array files are numbered.
    """
    path = Path(path)
    if schema.form == "tables":
        return row_names(path, schema)
    if schema.form == "molecules":
        return row_ids(assign_known(read_table(path), "molecules", schema))
    return [str(number) for number in range(count_nodes(path))]


def pairs(path: str | Path, table: str | Path, schema: Schema) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Return the pairs of nodes that a table names, as numbers ``(2, L)`` and as they are written.

    Args:
        path: of the graph, as given to `read_own`.
        table: CSV or Parquet with a source and a target in each row; nodes of array files are numbered.
        schema: of the data set.
    """
    path, table = Path(path), Path(table)
    if schema.form == "tables":
        return read_pairs(path, table, schema)
    sheet, nodes = pair_sheet(read_table(table), schema), count_nodes(path)
    fields = [sheet.field(role) for role in ("source", "target")]
    for field in fields:
        field.complete("the node")
        wrong = ~np.isin(field.numbers(), np.arange(nodes))
        if wrong.any():
            raise field.fail(wrong, f"{{}} is no node; they are numbered 0 to {nodes - 1}")
    ends = np.stack([field.numbers().astype(np.int64) for field in fields])
    return ends, list(zip(*(field.texts() for field in fields), strict=True))
