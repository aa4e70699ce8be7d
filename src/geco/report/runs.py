"""What run folders hold, as records and as one page: settings, scores, learning curves, seconds."""

from __future__ import annotations

import json
import statistics
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from geco.errors import UsageError
from geco.report.curves import curves
from geco.report.page import facts, page, table
from geco.store import has_entry
from geco.train.metrics import METRICS
from geco.train.trained_run import load_run

__all__ = ["find", "record", "runs_page", "spread"]

PARTS = ("train", "evaluate")  # whose seconds a run keeps
SETTINGS = ("data", "model", "optim", "train")


def find(path: Path) -> list[Path]:
    """Return the folders of the seeds of a run, or the folder itself if it is that of one seed.

    Those that were never evaluated are left out; the list is empty if none was.
    """
    started = [folder for folder in (path, *sorted(path.glob("seed-*"))) if (folder / "config.toml").is_file()]
    if not started:
        raise UsageError(f"{path} is no folder of `geco train`: there is no config.toml in it or in seed-*")
    return [folder for folder in started if has_entry(folder / "best") and _lines(folder / "metrics.jsonl")]


def record(folder: Path) -> dict[str, Any]:
    """Return what is known of the run of one seed: settings, environment, result, and every epoch with its seconds."""
    info = load_run(folder).info
    metrics, timing = (_lines(folder / f"{name}.jsonl") for name in ("metrics", "timing"))
    seconds = {line["epoch"]: line for line in timing}
    epochs = [
        {**line, **{key: round(seconds.get(line["epoch"], {}).get(key, 0.0), 4) for key in PARTS}} for line in metrics
    ]
    sign = 1 if METRICS[info.metric].better == "higher" else -1
    best = max(epochs, key=lambda line: sign * line["valid"])
    return {
        "metric": info.metric,
        "best": {key: best[key] for key in ("epoch", "valid", "test")},
        "finished": (folder / "result.json").is_file(),
        "seconds": round(sum(line[key] for line in epochs for key in PARTS), 1),
        "environment": json.loads((folder / "environment.json").read_text()),
        "config": tomllib.loads((folder / "config.toml").read_text()),
        "epochs": epochs,
    }


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file that a run may be writing to, or was killed while it did: without one that has no
    end.
    """
    whole = path.read_text().splitlines(keepends=True) if path.is_file() else []
    try:
        return [json.loads(line) for line in whole if line.endswith("\n")]
    except ValueError as error:
        raise UsageError(f"{path} is damaged: {error}; `geco train --resume auto` writes it again") from error


def runs_page(records: dict[str, list[dict[str, Any]]], footer: str) -> str:
    """Return one page on several runs.

    Args:
        records: of each run, by its name, those of its seeds.
        footer: which command made the page.
    """
    rows = [["run", "data set", "network", "seeds", "valid", "test", "best epoch", "seconds an epoch"]]
    rows += [_row(name, seeds) for name, seeds in records.items()]
    sections = [("", table(rows))]
    for name, seeds in records.items():
        first = seeds[0]
        shown = [
            (f"{part} {first['metric']}", [(e["epoch"], e[part]) for e in first["epochs"]])
            for part in ("valid", "test")
        ]
        loss = [("training loss", [(e["epoch"], e["loss"]) for e in first["epochs"]])]
        title = f"of seed {first['config']['seed']} by epoch"
        drawn = curves(shown, f"{first['metric']} {title}") + curves(loss, f"loss {title}")
        settings = [(f"{part}.{key}", str(value)) for part in SETTINGS for key, value in first["config"][part].items()]
        about = [(key, str(value)) for key, value in first["environment"].items()]
        sections.append(
            (name, f"{drawn}\n<details><summary>Settings and environment</summary>{facts(settings + about)}</details>")
        )
    return page("GECO runs", sections, footer)


def _row(name: str, seeds: Sequence[dict[str, Any]]) -> list[str]:
    config, unfinished = seeds[0]["config"], sum(not seed["finished"] for seed in seeds)
    scores = [spread([seed["best"][part] for seed in seeds]) for part in ("valid", "test")]
    count = f"{len(seeds)}, {unfinished} unfinished" if unfinished else str(len(seeds))
    best = ", ".join(str(seed["best"]["epoch"]) for seed in seeds)
    pace = statistics.median(epoch["train"] for seed in seeds for epoch in seed["epochs"])
    return [name, config["data"]["name"], config["model"]["name"], count, *scores, best, f"{pace:.3g}"]


def spread(values: list[float]) -> str:
    """Return mean and sample standard deviation of the scores of several seeds."""
    mean = f"{statistics.mean(values):.4f}"
    return f"{mean} ± {statistics.stdev(values):.4f}" if len(values) > 1 else mean
