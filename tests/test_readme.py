"""What the README shows must run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

README = Path(__file__).parent.parent / "README.md"


def test_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    exec("\n".join(blocks), names)
    y, scores, probabilities = names["y"], names["scores"], names["probabilities"]
    assert isinstance(y, torch.Tensor)
    assert isinstance(scores, torch.Tensor)
    assert isinstance(probabilities, torch.Tensor)
    assert probabilities.shape == (1000, 2)
    assert (tmp_path / "runs" / "mine" / "seed-1" / "config.toml").is_file()
    assert y.shape == (1000, 64)
    assert scores.shape == (1000, 10)


def test_files_it_names_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / target).exists(), target
