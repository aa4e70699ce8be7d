"""Does what a study plans, unit after unit, each kept at once; goes on where it was stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name

from filelock import FileLock, Timeout

from geco.console import print_line
from geco.data.dataset import GraphDataset
from geco.errors import DataError, ResourceError, UsageError
from geco.studies.claims.catalogue import find
from geco.studies.claims.page import page_of
from geco.studies.claims.record import StudyRecord
from geco.studies.claims.study import (
    Answer,
    Done,
    LeftOut,
    Measurement,
    Plan,
    Result,
    Scale,
    Study,
    Training,
    Tuning,
    Unit,
    Winner,
    training_of,
)
from geco.studies.claims.training import absent, dataset_of, train
from geco.studies.claims.tuning import tune, won

__all__ = ["Options", "carry_out", "run_study"]


QUICK = "This was a quick look, of an epoch or so on little data: it shows that the study runs, not who is better."


@dataclass(frozen=True)
class Options:
    """How a study is run.

    Args:
        scale: ``quick``, ``default`` or ``full``.
        seeds: of every training, at least two; those of the study if there are none.
        out: folder of record, page and runs.
        data_dir: folder of raw data sets.
        command: as it was typed.
    """

    scale: Scale
    seeds: tuple[int, ...]
    out: Path
    data_dir: Path | None = None
    command: str = ""


def run_study(name: str, options: Options) -> Answer:
    """Do what is missing of a study, write its record and page, and return what it says.

    Args:
        name: of `geco.studies.claims.catalogue.STUDIES`.
        options: how.
    """
    study: Study = resolve_name(f"{find(name).module}:STUDY")
    seeds = options.seeds or tuple(range(study.seeds[options.scale]))
    _check(options, seeds)
    return carry_out(name, study, study.plan(options.scale, seeds), options)


def carry_out(name: str, study: Study, plan: Plan, options: Options) -> Answer:
    """Do what is missing of a plan, write record and page, and return what the study says.

    Args:
        name: of the study or the measurement.
        study: that answers.
        plan: of it.
        options: how.
    """
    assert len({unit.key for unit in plan.units}) == len(plan.units)
    with _locked(options.out):
        record = StudyRecord(options.out / "record.json", name, options.scale)
        record.check(plan.units)
        left_out, todo = _available(plan, record, options)
        record.begin(options.command, left_out)
        later = _Work(record, options, todo).run()
        record.begin(options.command, [*left_out, *later])
        record.write()
        results = record.results
        answer = study.answer([Done(u.facts, results[u.key]) for u in plan.units if u.key in results])
        if options.scale == "quick" and any(training_of(unit.work) for unit in plan.units):
            answer = replace(answer, words=f"{QUICK}\n{answer.words}")
        page_of(name, plan, record, answer).write(options.out / "page.html")
        return answer


def _check(options: Options, seeds: tuple[int, ...]) -> None:
    if len(set(seeds)) < max(2, len(seeds)) or min(seeds) < 0:
        said = " ".join(map(str, seeds))
        raise UsageError(f"--seeds must be two or more different numbers from 0 on, for a spread; got {said}")
    if options.data_dir is not None and not options.data_dir.is_dir():
        raise UsageError(f"the data folder {options.data_dir} does not exist")


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Own a folder; a study is not run twice in one at a time."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; name a folder")
    out.mkdir(parents=True, exist_ok=True)
    lock = FileLock(out / ".lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise UsageError(f"another process runs a study in {out}; wait for it, or choose another --out") from error
    try:
        yield
    finally:
        lock.release()


def _available(plan: Plan, record: StudyRecord, options: Options) -> tuple[list[LeftOut], list[Unit]]:
    """Return what is left out, and the units that are to be done: those whose data is on disk and that are new."""
    missing: dict[str, str] = {}
    todo = []
    for unit in plan.units:
        if unit.key in record.results and not unit.again:
            continue
        training = training_of(unit.work)
        why = "" if training is None else absent(training, options.data_dir)
        if training is not None and why:
            missing[training.config.data.name] = why
        else:
            todo.append(unit)
    left_out = [*plan.left_out, *(LeftOut(name, why) for name, why in missing.items())]
    for item in left_out:
        print_line(f"left out: {item.what}: {item.why}")
    done = len(plan.units) - len(todo)
    if todo:
        print_line(f"{len(todo)} units to do in {options.out}" + (f", {done} done or left out" if done else ""))
    return left_out, todo


class _Work:
    """Units one after the other; the data of the last one is at hand for the next."""

    def __init__(self, record: StudyRecord, options: Options, todo: Sequence[Unit]) -> None:
        self.record, self.options, self.todo = record, options, todo
        self._data: tuple[object, GraphDataset | None] = (None, None)

    def run(self) -> list[LeftOut]:
        """Do all of them; return those that lack something that could not be known before."""
        later: list[LeftOut] = []
        for number, unit in enumerate(self.todo, 1):
            begin = time.perf_counter()
            try:
                result = self._do(unit)
            except (DataError, ResourceError, ImportError) as error:
                later.append(LeftOut(unit.key, " ".join(str(error).split())))
                print_line(f"left out: {unit.key}: {later[-1].why}")
                continue
            seconds = time.perf_counter() - begin
            self.record.keep(unit, result, seconds)
            print_line(f"{number} of {len(self.todo)}: {unit.key}: {_told(result)}, {seconds:.1f} s")
        return later

    def _do(self, unit: Unit) -> Result:
        if isinstance(unit.work, Measurement):
            return unit.work.run(self.record.results)
        folder = self.options.out / "runs" / unit.key
        if isinstance(unit.work, Tuning):
            return tune(unit.work, self._dataset(unit.work.training), folder)
        training = won(unit.work, self.record.results) if isinstance(unit.work, Winner) else unit.work
        return train(training, self._dataset(training), folder)

    def _dataset(self, training: Training) -> GraphDataset:
        config = training.config
        model = (config.model.name, config.model.permutation, config.model.structure_version)
        wanted = (config.data, training.made, training.share, *model)
        if self._data[0] != wanted or self._data[1] is None:
            self._data = (None, None)  # never two large ones at a time
            self._data = (wanted, dataset_of(training, self.options.data_dir))
        assert self._data[1] is not None
        return self._data[1]


def _told(result: Result) -> str:
    if "failed" in result:
        return str(result["failed"])
    told: list[str] = [f"{key} {value:.4g}" for key, value in result.items() if _is_told(key, value)]
    return ", ".join(told) or "done"


def _is_told(key: str, value: object) -> bool:
    return isinstance(value, float) and "seconds" not in key
