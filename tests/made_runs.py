"""Run folders as `geco train` leaves them, without training."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from geco.data.dataset import Info
from geco.train.config import Config, DataConfig, ModelConfig, TrainConfig, to_toml

CLASSES = Info("pets", "node", "class", 2, "accuracy", names=("cat", "dog"))
VALUES = Info("houses", "graph", "values", 2, "mae", names=("price", "age"))


def made_run(
    folder: Path,
    *,
    seed: int = 0,
    epochs: int = 4,
    model: str = "gcn",
    info: Info = CLASSES,
    level: float = 0.8,
    finished: bool = True,
    **settings: Any,
) -> Path:
    """Write the folder of one seed and return it.

    Args:
        folder: to write.
        seed: of the run; shifts its scores.
        epochs: evaluated; the last but one is the best.
        model: its name.
        info: what the data asks for.
        level: best validation score.
        finished: whether it has a result.
        settings: of the model.
    """
    config = Config(DataConfig(info.name), ModelConfig(model), train=TrainConfig(epochs=max(1, epochs)), seed=seed)
    config = replace(config, model=replace(config.model, **settings))
    draw, lines = random.Random(f"{folder.parent.name}{seed}"), []
    sign = 1 if info.metric == "accuracy" else -1
    for epoch in range(1, epochs + 1):
        valid = level - sign * 0.3 * abs(epochs - 1 - epoch) / epochs + 0.01 * seed
        lines.append({"epoch": epoch, "loss": math.exp(-epoch / 3) + 0.01 * draw.random(), "lr": 0.01, "gradient": 1.0,
                      "valid_loss": 0.5, "valid": valid, "test": valid - 0.05})  # fmt: skip
    best = lines[max(0, epochs - 2)] if lines else {}
    confusion = {"names": list(info.names), "confusion": [[30, 2], [1, 17 + seed]]}
    pairs = {"names": list(info.names), "pairs": [[[1.0, 2.0, 3.0], [1.1, 1.9, 3.2]]] * 2}
    report = {"outcome": confusion if info.target == "class" else pairs, "parameters": 1234}
    about = {"info": info.to_json(), "report": {**report, "baseline": {"a guess": {"valid": 0.5, "test": 0.45}}}}
    (folder / "best").mkdir(parents=True)
    (folder / "best" / "manifest.json").write_text(json.dumps({"about": about}))
    (folder / "config.toml").write_text(to_toml(config))
    (folder / "environment.json").write_text(json.dumps({"torch": "2.13.0", "commit": "abc1234"}))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    timing = [{"epoch": line["epoch"], "train": 0.5, "evaluate": 0.1, "memory": 2**28} for line in lines]
    (folder / "timing.jsonl").write_text("".join(json.dumps(line) + "\n" for line in timing))
    if finished:
        result = {**best, "parameters": 1234, "baseline": about["report"]["baseline"]}
        (folder / "result.json").write_text(json.dumps(result))
    return folder
