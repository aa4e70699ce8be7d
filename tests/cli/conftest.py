"""Commands run in this process, away from the machine's own data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from geco.cli.main import main
from geco.data import load_dataset
from geco.data.dataset import GraphDataset
from geco.data.embedded.synthetic import erdos_renyi

Run = Callable[..., str]


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the machine's own data."""
    monkeypatch.setenv("GECO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GECO_DATA", raising=False)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> GraphDataset:
    """Whatever is loaded is this."""
    random = erdos_renyi(50, degree=3, graphs=4, features=6, classes=2)
    dataset = replace(random, info=replace(random.info, name="digits"))
    monkeypatch.setattr(load_dataset, "load", lambda *_, **__: dataset)
    return dataset


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """What a command prints."""

    def output(*words: str) -> str:
        main(list(words))
        return capsys.readouterr().out

    return output
