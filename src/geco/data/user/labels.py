"""The labels of a user's files: classes, yes-or-no labels or values, and the split, given or made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from geco.data.dataset import Info, Level, Split, Target
from geco.data.splits import fold_splits, random_split, scaffold_split, stratified_split, time_split
from geco.data.user.schema import METRICS, Column, OwnOptions, Schema
from geco.data.user.tables import ABSENT, Field
from geco.errors import DataError, UsageError

__all__ = ["MOST_CLASSES", "Labels", "read_labels", "read_parts", "read_splits"]

MOST_CLASSES = 100  # more different whole numbers are taken as values
PARTS = {
    **dict.fromkeys(("train", "training", "0"), 0),
    **dict.fromkeys(("valid", "val", "validation", "dev", "1"), 1),
    **dict.fromkeys(("test", "testing", "2"), 2),
}


@dataclass(frozen=True)
class Labels:
    """What is to be predicted.

    Args:
        y: ``(rows,)`` classes, -1 where unknown, or ``(rows, targets)`` labels or values, NaN where unknown.
        target: which of them.
        names: of the classes or columns.
    """

    y: Tensor
    target: Target
    names: tuple[str, ...]

    @property
    def known(self) -> np.ndarray:
        """Which rows have any label, ``(rows,)``."""
        found = self.y >= 0 if self.target == "class" else ~self.y.isnan().all(1)
        return np.asarray(found)

    @property
    def classes(self) -> Tensor | None:
        """The class of each row, if it is classes that are predicted."""
        return self.y if self.target == "class" else None

    @property
    def counts(self) -> tuple[int, ...]:
        """Members of each class, "yes" of each label, or known values."""
        if self.target == "class":
            return tuple(torch.bincount(self.y[self.y >= 0], minlength=len(self.names)).tolist())
        return tuple(((self.y == 1) if self.target == "labels" else ~self.y.isnan()).sum(0).tolist())

    def info(self, name: str, level: Level, options: OwnOptions, schema: Schema | None = None) -> Info:
        """Return what the data set asks for."""
        metric = schema.metric if schema else options.metric or METRICS[self.target]
        directed = schema.directed if schema else options.directed
        return Info(name, level, self.target, len(self.names), metric, names=self.names, directed=directed)

    def schema(
        self,
        form: Literal["tables", "molecules", "arrays"],
        info: Info,
        directed: bool,
        columns: Sequence[Column],
        notes: Sequence[str],
    ) -> Schema:
        """Return what was understood of the files these labels are from."""
        found = (info.level, self.target, info.metric, self.names, self.counts)
        return Schema(form, *found, directed, tuple(columns), tuple(notes))


def read_labels(fields: Sequence[Field], task: str | None, rows: int, schema: Schema | None = None) -> Labels:
    """Read label columns: text or few whole numbers are classes, several columns of 0 and 1 labels, other numbers
    values.

    Args:
        fields: the columns; none where a schema is known and new files have no labels.
        task: what they are, if the user gives it.
        rows: how many there are.
        schema: how they were read before.
    """
    if not fields and schema is not None:
        shape = (rows,) if schema.target == "class" else (rows, len(schema.names))
        empty = torch.full(shape, -1 if schema.target == "class" else torch.nan)
        return Labels(empty.long() if schema.target == "class" else empty, schema.target, schema.names)
    fields = [field.blank(ABSENT) if field.kind == "number" else field for field in fields]
    target = schema.target if schema else _target(fields, task)
    if target == "class":
        return _classes(fields[0], schema.names if schema else None)
    read = {field.name: _yes_or_no(field) if target == "labels" else field.numbers() for field in fields}
    names = schema.names if schema else tuple(read)
    y = np.stack([read.get(name, np.full(rows, np.nan)) for name in names], 1)
    if schema is None and len(names) == 1 and (value := np.nanmax(y)) == np.nanmin(y):
        raise DataError(
            f"{fields[0].where(0)}: every label is {value:g}, there is nothing to learn; choose with --label"
        )
    return Labels(torch.from_numpy(y.astype(np.float32)), target, names)


def read_parts(field: Field) -> np.ndarray:
    """Return 0, 1, 2 for training, validation and test, and -1 where nothing is written, ``(rows,)``."""
    texts = field.texts().str.lower()
    parts = texts.map(PARTS).to_numpy(np.float64, na_value=np.nan)
    wrong = np.isnan(parts) & ~field.missing
    if wrong.any():
        raise field.fail(wrong, "{} is no part of a split; write train, valid or test, or nothing")
    return np.where(field.missing, -1, parts).astype(np.int64)


def read_splits(
    labels: Labels,
    given: Sequence[np.ndarray],
    where: str,
    options: OwnOptions,
    schema: Schema | None = None,
    known: np.ndarray | None = None,
    scaffolds: Callable[[], Sequence[str]] | None = None,
    times: np.ndarray | None = None,
) -> tuple[list[Split], list[str]]:
    """Return the splits a file gives, or one made as the flags say, and notes on them.

    What has no label is in no part. New files that a schema reads get no split but their own.

    Args:
        labels: of nodes, graphs or molecules.
        given: 0, 1, 2 or -1 of each, see `read_parts`, for every split of the file.
        where: the file and column of the split, for people.
        options: kind, fractions and seed.
        schema: how such files were read before.
        known: whether each has a label, where graphs are split and nodes have labels.
        scaffolds: gives the scaffold of each, where there are molecules.
        times: of each, where the split is by time.
    """
    unknown = int((~labels.known).sum())
    notes = [f"no label: {unknown:,} of {len(labels.y):,}; they are in no part of the split"] if unknown else []
    chosen, classes = (labels.known, labels.classes) if known is None else (known, None)
    if schema is not None:
        return [_given(parts, chosen) for parts in given], notes
    _check_flags(options)
    own = options.folds == 0 and times is None
    splits = [_given(parts, chosen) for parts in given] if own else []
    if splits and not all(len(split.train) for split in splits):
        raise DataError(f"{where}: nothing that has a label is in the training part; write train for some rows")
    note = f"split: from {where}"
    if not splits:
        splits, note = _made(options, np.flatnonzero(chosen), classes, scaffolds, times)
    first = splits[0]
    sizes = f"{len(first.train):,} train, {len(first.valid):,} valid, {len(first.test):,} test"
    return splits, [*notes, f"{note}; {sizes}{f'; the first of {len(splits)}' if len(splits) > 1 else ''}"]


def _given(parts: np.ndarray, known: np.ndarray) -> Split:
    return Split(*(torch.from_numpy(np.flatnonzero((parts == part) & known)) for part in range(3)))


def _made(
    options: OwnOptions,
    chosen: np.ndarray,
    classes: Tensor | None,
    scaffolds: Callable[[], Sequence[str]] | None,
    times: np.ndarray | None,
) -> tuple[list[Split], str]:
    """Return splits of the chosen rows, and how they were made."""
    known, seed = None if classes is None else classes[chosen], options.seed
    note = f"split: {options.split_kind}, made with seed {seed}"
    if times is not None:
        made = [time_split(times[chosen], options.fractions)]
        note = f"split: by time, column {options.time}, the oldest for training"
        _check_times(made[0], times[chosen], options)
    elif options.folds:
        made = fold_splits(len(chosen), options.folds, seed, known)
        note = f"split: {options.folds} folds{' by class' if known is not None else ''}, made with seed {seed}"
    elif options.split_kind == "stratified":
        if known is None:
            raise UsageError("a stratified split needs one class for each node or graph; use --split-kind random")
        made = [stratified_split(known, options.fractions, seed)]
    elif options.split_kind == "scaffold":
        if scaffolds is None:
            raise UsageError("a scaffold split needs molecules; use --split-kind random")
        every = scaffolds()
        made = [scaffold_split([every[i] for i in chosen.tolist()], options.fractions, seed)]
    else:
        made = [random_split(len(chosen), options.fractions, seed)]
    return [Split(*(torch.from_numpy(chosen[part.numpy()]) for part in vars(split).values())) for split in made], note


def _check_flags(options: OwnOptions) -> None:
    """Refuse flags that ask for two splits at once."""
    given = {"--split": options.split, "--time": options.time, "--folds": options.folds}
    named = [flag for flag, value in given.items() if value]
    if options.split_kind != "random":
        named += [f"--split-kind {options.split_kind}"] if named else []
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} each make a split; give one of them")


def _check_times(split: Split, times: np.ndarray, options: OwnOptions) -> None:
    wanted = zip(vars(split).items(), options.fractions, strict=True)
    empty = [name for (name, part), share in wanted if share > 0 and not len(part)]
    if empty:
        raise DataError(
            f"column {options.time} has {len(np.unique(times)):,} different times, too few for a split by time: what "
            f"is of one time stays together, and nothing is left for {empty[0]}; choose other --fractions"
        )


def _target(fields: Sequence[Field], task: str | None) -> Target:
    for field in fields:
        if field.missing.all():
            raise DataError(f"{field.where(0)}: no row has a label; leave the column out, or name another with --label")
    if task == "class" and len(fields) > 1:
        raise UsageError(
            f"--task class needs one label column, got {', '.join(f.name for f in fields)}; choose with --label"
        )
    if task in ("class", "labels", "values"):
        return task  # type: ignore[return-value]
    if len(fields) == 1:
        return "class" if _looks_like_classes(fields[0]) else "values"
    text = next((field for field in fields if field.kind == "text"), None)
    if text is not None:
        raise text.fail(
            text.not_numbers, f"{{}} is not a number, and one of several labels must be; or give --ignore {text.name}"
        )
    binary = all(np.isin(field.numbers()[~field.missing], (0, 1)).all() for field in fields)
    return "labels" if binary else "values"


def _looks_like_classes(field: Field) -> bool:
    if field.kind == "text":
        return True
    values = np.unique(field.numbers("correct it, or give --task class")[~field.missing])
    return bool((values % 1 == 0).all()) and len(values) <= MOST_CLASSES


def _classes(field: Field, known: tuple[str, ...] | None) -> Labels:
    texts, numeric = field.texts(), not field.not_numbers.any()
    plain = (
        pd.Series(field.parsed).map("{:.15g}".format, na_action="ignore") if numeric else texts
    )  # 1.0 is the class 1
    if known is None:
        values = np.unique(field.parsed[~field.missing]).tolist() if numeric else texts.dropna().unique().tolist()
        known = tuple(f"{value:.15g}" for value in values) if numeric else tuple(sorted(values))
        if len(known) < 2:
            raise DataError(
                f"{field.where(0)}: every label is {known[0]!r}, there is nothing to learn; choose with --label"
            )
    codes = pd.Index(known).get_indexer(texts)
    codes = np.where(codes < 0, pd.Index(known).get_indexer(plain), codes)
    unknown = (codes < 0) & ~field.missing
    if unknown.any():
        raise field.fail(unknown, f"{{}} is none of the {len(known)} classes known ({', '.join(known[:8])})")
    return Labels(torch.from_numpy(codes.astype(np.int64)), "class", known)


def _yes_or_no(field: Field) -> np.ndarray:
    values = field.numbers()
    wrong = ~np.isin(values, (0, 1)) & ~field.missing
    if wrong.any():
        raise field.fail(wrong, "{} is neither 0 nor 1, as a yes-or-no label must be; or give --task values")
    return values
