"""``geco env`` and ``geco bench``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from geco import __version__
from geco.studies import step

Run = Callable[..., str]


def test_env_names_what_results_depend_on(run: Run) -> None:
    found = dict(line.split(maxsplit=1) for line in run("env").splitlines())
    assert found["geco"] == __version__
    assert found["torch"] == torch.__version__
    assert found["threads"] == str(torch.get_num_threads())
    assert "GiB" in found["memory"]
    assert found["plan(1000)"].startswith("fft: one ring of 1,000 nodes")
    assert found["plan(1000000)"].startswith("long-ring: ")


def test_bench_is_the_study(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(step, "main", seen.append)
    run("bench", "--nodes", "64", "128", "--repeats", "2", "--json", str(tmp_path / "b.json"))
    (words,) = seen
    options = step.parse(words)
    assert (options.nodes, options.repeats, options.real, options.json) == ([64, 128], 2, [], tmp_path / "b.json")
