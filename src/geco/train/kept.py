"""What is kept of the run of one seed, in its folder or in memory."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from geco.data.dataset import GraphDataset, Info
from geco.errors import CheckpointError, UsageError
from geco.machine import environment
from geco.store import Entry, read_about, read_entry, write_entry, write_file
from geco.train.config import Config, as_saved, from_table, to_toml

__all__ = ["COLUMNS", "Kept", "data_folder", "described", "given", "read_data", "write_data"]

COLUMNS = ("x", "edge_attr", "edge_weight")
ASKED = {"class": "classes", "labels": "labels", "values": "values", "tokens": "tokens"}


class Kept:
    """What is kept of a run; of a folder each file is read when it is first asked for.

    Args:
        folder: ``RUN/seed-S``; None where all is set by hand.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    @cached_property
    def best(self) -> Entry:
        """The weights of the best epoch, and all that is needed to use them."""
        assert self.folder is not None
        try:
            return read_entry(self.folder / "best")
        except ValueError as error:
            raise CheckpointError(f"{error}; train it again") from error

    @cached_property
    def about(self) -> dict[str, Any]:
        """The same without the weights."""
        if "best" in vars(self) or self.folder is None:
            return self.best.about
        try:
            return read_about(self.folder / "best")
        except ValueError as error:
            raise CheckpointError(f"{error}; train it again") from error

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        """An evaluation a line: epoch, losses, scores."""
        return self._lines("metrics.jsonl")

    @cached_property
    def timing(self) -> list[dict[str, Any]]:
        """The seconds of each."""
        return self._lines("timing.jsonl")

    @cached_property
    def result(self) -> dict[str, Any]:
        """What `Trainer.fit` returned; empty until it has ended."""
        found = self._lines("result.json", whole=True)
        return found[0] if found else {}

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Versions and machine."""
        found = self._lines("environment.json", whole=True)
        return found[0] if found else environment()

    @property
    def config(self) -> Config:
        """The settings, those of an earlier version as they were meant."""
        return from_table(as_saved(self.about["config"]), Config(), str(self.folder or "the run"))

    @property
    def where(self) -> str:
        """What messages call it."""
        return "the run" if self.folder is None else str(self.folder / "best")

    def write(self, folder: Path) -> None:
        """Write it as `geco train` does, but for the checkpoints to go on from."""
        if (folder / "config.toml").exists():
            raise UsageError(f"{folder} holds a run already; choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
        write_entry(folder / "best", self.best)
        for name, lines in (("metrics", self.history), ("timing", self.timing)):
            write_file(folder / f"{name}.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode())
        for name, facts in (("environment", self.environment), ("result", self.result)):
            if facts:
                write_file(folder / f"{name}.json", json.dumps(facts, indent=2).encode())
        write_file(folder / "config.toml", to_toml(self.config).encode())  # last: with it, the folder holds a run

    def _lines(self, name: str, whole: bool = False) -> list[Any]:
        """Return what a file of JSON has in each line, without one that a killed run did not end, or in all."""
        path = (self.folder or Path()) / name
        if self.folder is None or not path.is_file():
            return []
        text = path.read_text(encoding="utf-8")
        try:
            return [json.loads(text)] if whole else [json.loads(line) for line in text.split("\n")[:-1]]
        except ValueError as error:
            raise CheckpointError(f"{path} is damaged: {error}; `geco train --resume auto` writes it again") from error


def given(dataset: GraphDataset) -> dict[str, Any]:
    """Return what a network was given, which new graphs must have too.

    Example:
        >>> from geco.data.embedded.synthetic import erdos_renyi
        >>> given(erdos_renyi(10, degree=2, features=3))["columns"]
        {'x': 3}
    """
    arrays = {name: dataset.arrays.get(f"{'node' if name == 'x' else 'edge'}/{name}") for name in COLUMNS}
    columns = {name: array.shape[1] if array.dim() > 1 else 1 for name, array in arrays.items() if array is not None}
    return {"graphs": len(dataset), "nodes": dataset.num_nodes, "edges": dataset.num_edges, "columns": columns}


def data_folder(folder: Path) -> Path:
    """Return where the run of a seed has data that was given to it in memory, beside it and other seeds."""
    return (folder.parent if folder.name.startswith("seed-") else folder) / "data"


def write_data(path: Path, dataset: GraphDataset) -> None:
    """Keep data that has no name to find it by."""
    write_entry(path, Entry(dataset.arrays, {"info": dataset.info.to_json()}))


def read_data(path: Path) -> GraphDataset:
    """Undo `write_data`."""
    try:
        entry = read_entry(path)
    except ValueError as error:
        raise CheckpointError(f"{error}; train it again") from error
    return GraphDataset(Info.from_json(entry.about["info"]), entry.arrays)


def described(info: Info, config: Config, kept: Sequence[Kept]) -> str:
    """Return what was trained on what, and how well it does, a line each.

    Args:
        info: what is predicted.
        config: of the first seed.
        kept: of each seed.
    """
    m, about, result = config.model, kept[0].about, kept[0].result
    body = f"{m.name} of {m.local} and {m.mixer}" if m.name == "hybrid" else m.name
    parameters = f", {result['parameters']:,} parameters" if result else ""
    mixed = m.mixer if m.name == "hybrid" else m.name
    context = f", filter {m.filter}, {m.permutation} order" if mixed == "geco" else ""
    seeds = ", ".join(str(each.config.seed) for each in kept)
    unused = ", ".join(result.get("unused", ()))
    lines = {
        "data": _sizes(info, about.get("given")),
        "network": f"{body}, {m.layers} layers of {m.hidden}{context}{parameters}",
        "seeds": seeds if len(kept) > 1 else f"{seeds}, best epoch {about['epoch']}",
        info.metric: "  ".join(f"{part} {_spread([each.about[part] for each in kept])}" for part in ("valid", "test")),
        **{name: f"valid {s['valid']:.4f}  test {s['test']:.4f}" for name, s in result.get("baseline", {}).items()},
        **({"not used": unused} if unused else {}),
    }
    width = max(map(len, lines))
    return "\n".join([f"Run of {info.name}", *(f"  {name:{width}}  {text}" for name, text in lines.items())])


def _sizes(info: Info, given: dict[str, Any] | None) -> str:
    asked = "links" if info.level == "link" else f"{info.num_targets} {ASKED[info.target]} of {info.level}s"
    if given is None:  # a run of before it was kept
        return asked
    many = f"{given['graphs']:,} graphs, " if given["graphs"] > 1 else ""
    columns = ", ".join(f"{count} columns of {name}" for name, count in given["columns"].items())
    return f"{many}{given['nodes']:,} nodes, {given['edges']:,} edges, {columns}; {asked}"


def _spread(values: list[float]) -> str:
    mean = f"{statistics.mean(values):.4f}"
    return f"{mean} ± {statistics.stdev(values):.4f}" if len(values) > 1 else mean
