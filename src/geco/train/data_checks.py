"""What a network cannot be trained on, found before training starts by one look at every array.

Data that was prepared or imported has been checked by its reader; this is for data sets made in Python too, and for
values that a file may hold but float32 cannot compute with.

Shapes: N nodes, B graphs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from geco.data.collate import check, with_splits
from geco.data.dataset import ENDS, GraphDataset, Info
from geco.errors import DataError
from geco.train.metrics import METRICS, check_metric
from geco.train.targets import GUESS, targets

__all__ = ["check_batches", "check_inputs", "column_names"]

logger = logging.getLogger(__name__)

LARGE = 1e7  # float32 keeps seven digits: beside such a value, those of other nodes are lost in the sums over all nodes
TOO_LARGE = 1e15  # the squares of 10^8 such values do not fit into float32
SCALED = ("node/x", "edge/edge_attr")
NO_FEATURES = (*ENDS, "node/y", "node/place")
PARTS = ("train", "valid", "test")


def check_inputs(dataset: GraphDataset, split: int = 0, names: Sequence[str] = (), scaled: bool = False) -> None:
    """Refuse data that cannot be trained on, with the place of the first mistake; warn of what is doubtful.

    Args:
        dataset: with its encodings.
        split: which of its splits is used.
        names: of the columns of x, if they have any.
        scaled: whether the network scales features, so that large values do no harm.

    Example:
        >>> from geco.data.embedded.synthetic import erdos_renyi
        >>> check_inputs(erdos_renyi(10, degree=2).attach("node/age", torch.full((10, 1), torch.nan)))
        Traceback (most recent call last):
        geco.errors.DataError: erdos-renyi: node/age has NaN or infinite values in 10 rows, the first in row 0, column
            0; ...
    """
    info = dataset.info
    check_metric(info.metric, info.level, info.target, info.num_targets)
    _check_shapes(dataset)
    for key, array in dataset.arrays.items():
        level = key.split("/")[0]
        if level in ("node", "edge") and key not in NO_FEATURES and array.dtype != torch.bool and array.numel():
            large = _check_values(info, key, array.reshape(len(array), -1), names if key == "node/x" else ())
            if large and not (scaled and key in SCALED):
                logger.warning(large)
    _check_targets(info, dataset.arrays.get("node/y" if info.level == "node" else "graph/y"))
    check(with_splits(dataset, []))  # splits are checked further below
    _check_parts(dataset, split)
    _check_classes(dataset, split)
    _check_scores(dataset, split)


def column_names(schema: Mapping[str, Any] | None) -> list[str]:
    """Return the name of each column of x, from the schema of a user's tables; none for data without one."""
    columns = schema["columns"] if schema else []
    chosen = [c for c in columns if c["file"] == "nodes" and c["role"] == "feature"]
    names = []
    for c in chosen:  # a column that marks missing values follows those of the values
        names += [c["name"]] * max(1, len(c["categories"])) + [f"{c['name']}, missing"] * c.get("marked", False)
    return names


def check_batches(dataset: GraphDataset, split: int, batch_size: int) -> None:
    """Refuse batches that may have no nodes, or in training fewer than two, which cannot be normalised.

    Args:
        dataset: the graphs.
        split: which of its splits is used.
        batch_size: graphs in a batch; the last one takes what is left.
    """
    parts = dataset.split(split)
    for part in PARTS:
        sizes = dataset.sizes if dataset.unit != "graph" else dataset.sizes[getattr(parts, part)]
        fewest = min(len(sizes), len(sizes) % batch_size or batch_size)  # graphs of the smallest batch
        least = 2 if part == "train" else 1
        if int(sizes.sort().values[:fewest].sum()) < least:
            raise DataError(
                f"{dataset.info.name}: in batches of {batch_size} of the {len(sizes)} graphs of the {part} part, one "
                "of "
                f"{fewest} may have fewer than {least} nodes; choose another --data.batch-size, or leave such graphs "
                "out"
            )


def _check_shapes(dataset: GraphDataset) -> None:
    for key in ENDS:
        ends = dataset.arrays.get(key)
        if ends is not None and (ends.dim() != 2 or ends.shape[0] != 2 or ends.is_floating_point()):
            got = f"{ends.dtype} {tuple(ends.shape)}"
            raise DataError(f"{dataset.info.name}: {key} must be whole numbers of shape (2, M), got {got}")
    if dataset.arrays["node/x"].dim() != 2:
        raise DataError(
            f"{dataset.info.name}: node/x must have rows and columns, got {tuple(dataset.arrays['node/x'].shape)}"
        )


def _check_values(info: Info, key: str, array: Tensor, names: Sequence[str]) -> str:
    """Refuse what float32 cannot compute with, and return what to say of large values, if there are any."""
    low, high = torch.aminmax(array, dim=0)
    most = torch.maximum(low.double().abs(), high.double().abs())  # of each column; NaN if the column has any
    bad = ~(most <= TOO_LARGE)
    if bool(bad.any()):
        column = int(bad.nonzero()[0])
        rows = (~(array[:, bad].double().abs() <= TOO_LARGE)).any(1).nonzero().view(-1)
        what = f"values over {TOO_LARGE:g}" if bool(most.isfinite().all()) else "NaN or infinite values"
        raise DataError(
            f"{info.name}: {key} has {what} in {len(rows)} rows, the first in row {int(rows[0])}, "
            f"{_column(names, column)}; "
            "one such row would spoil the output of all: correct it, scale the column or leave it out"
        )
    large = (most >= LARGE).nonzero().view(-1).tolist()
    if not large:
        return ""
    more = f" (and {len(large) - 1} more columns)" if len(large) > 1 else ""
    return (
        f"warning: {info.name}: {key}, {_column(names, large[0])} reaches {float(most[large[0]]):.3g}{more}; "
        "float32 keeps 7 digits, beside such values those of other nodes are lost: scale the column (--model.scaling "
        "robust) or take its logarithm"
    )


def _column(names: Sequence[str], number: int) -> str:
    return f"column {names[number]}" if number < len(names) else f"column {number}"


def _check_targets(info: Info, y: Tensor | None) -> None:
    """Refuse labels that are no classes, no tokens, not 0 to 1, or infinite."""
    if y is None or info.level == "link":
        return
    y = y if y.is_floating_point() else y.long()  # no unsigned types: -1 is a label
    if info.target in ("class", "tokens"):
        top = info.num_targets if info.target == "class" else len(info.names)
        wrong, wanted = (y < -1) | (y >= top), f"whole numbers from 0 to {top - 1}, or -1 for none"
        if y.is_floating_point():
            wrong |= y != y.floor()
    else:
        wrong, wanted = y.isinf(), "finite, or NaN for none"
        if info.target == "labels":
            wrong, wanted = wrong | (y < 0) | (y > 1), "from 0 to 1, or NaN for none"
    if bool(wrong.any()):
        first = [int(i) for i in wrong.nonzero()[0]]
        raise DataError(
            f"{info.name}: {int(wrong.sum())} of {y.numel()} labels are out of range, the first is "
            f"{y[tuple(first)].item():g} "
            f"in row {first[0]}; they must be {wanted}"
        )


def _check_parts(dataset: GraphDataset, number: int) -> None:
    """Refuse parts that name what is not there or have no label; warn of what is in two of them."""
    if dataset.num_splits == 0:
        raise DataError(f"{dataset.info.name} has no split into training, validation and test; import it with one")
    split, known = dataset.split(number), _labelled(dataset)
    what, where = dataset.unit, f"{dataset.info.name}: split {number}"
    for part in PARTS:
        rows = getattr(split, part)
        if rows.numel() == 0:
            raise DataError(f"{where} has no {part} part")
        if int(rows.min()) < 0 or int(rows.max()) >= len(known):
            raise DataError(f"{where} names {what}s outside 0 to {len(known) - 1}")
        if not bool(known[rows].any()):
            raise DataError(f"{where}: no labelled {what} in the {part} part; check the split and the labels")
    seen = torch.bincount(torch.cat([getattr(split, part) for part in PARTS]), minlength=len(known))
    if int(seen.max()) > 1:
        twice = (seen > 1).nonzero()
        logger.warning(
            f"warning: {where} has {len(twice)} {what}s in more than one part, or twice in one, the first is "
            f"{int(twice[0])}; "
            "scores on what was trained on say little"
        )


def _check_classes(dataset: GraphDataset, number: int) -> None:
    """Warn of classes that are asked for in validation or test, and of which training has no member."""
    info, split = dataset.info, dataset.split(number)
    if info.target != "class" or info.level == "link":
        return
    counts = {}
    for part in PARTS:
        y = targets(dataset, getattr(split, part))
        counts[part] = torch.bincount(y[y >= 0], minlength=info.num_targets)
    asked = torch.where(counts["train"] == 0, counts["valid"] + counts["test"], 0)
    if bool(asked.any()):
        unseen = asked.nonzero().view(-1).tolist()
        names = ", ".join(info.names[i] if i < len(info.names) else str(i) for i in unseen[:5])
        more = " ..." if len(unseen) > 5 else ""
        logger.warning(
            f"warning: {info.name}: split {number} trains on none of the classes {names}{more}, which"
            f" {int(asked.sum()):,} of validation and test are; they cannot be learnt"
        )


def _check_scores(dataset: GraphDataset, number: int) -> None:
    """Refuse parts on which the metric has no value, such as one class of two, before anything is trained for it."""
    info, split = dataset.info, dataset.split(number)
    if info.level == "link" or info.target not in GUESS:
        return
    for part in PARTS[1:]:
        y = targets(dataset, getattr(split, part))
        y = y[y >= 0] if info.target == "class" else y
        try:
            METRICS[info.metric].score(torch.zeros(1, info.num_targets).expand(len(y), -1), y)
        except DataError as error:
            raise DataError(f"{info.name}: split {number}, the {part} part: {error}") from error


def _labelled(dataset: GraphDataset) -> Tensor:
    """Return which nodes or links of one graph ``(N,)``, or which graphs ``(B,)``, have any label."""
    info, arrays = dataset.info, dataset.arrays
    if info.level == "link":
        links = arrays["ptr/link"].long()
        return links.diff() > 0 if dataset.unit == "graph" else torch.ones(int(links[-1]), dtype=torch.bool)
    y = arrays["node/y" if info.level == "node" else "graph/y"]
    known = (y.isfinite() if info.target in ("labels", "values") else y >= 0).view(len(y), -1).any(1)
    if info.level == "graph" or dataset.unit == "node":
        return known
    before = torch.nn.functional.pad(known.long().cumsum(0), (1, 0))  # of the nodes before each place
    return before[arrays["ptr/node"].long()].diff() > 0
