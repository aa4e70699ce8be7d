"""Models on the hub: the same two files as on disk, nothing else fetched, nothing run. No network."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from huggingface_hub import hub_mixin

from geco.nn import GECO, hub

X, EDGES = torch.randn(6, 4), torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])


@pytest.fixture
def made() -> hub.GECO:
    return hub.GECO(4, 8, num_layers=2, out_channels=3, dropout=0.1, permutation="static", seed=5).eval()


def test_either_class_reads_what_the_other_wrote(made: hub.GECO, tmp_path: Path) -> None:
    wanted = made(X, EDGES)
    made.save_pretrained(tmp_path / "a")
    GECO.from_pretrained(tmp_path / "a").save_pretrained(tmp_path / "b")
    assert torch.equal(hub.GECO.from_pretrained(tmp_path / "b")(X, EDGES), wanted)
    assert hub.GECO.from_pretrained(tmp_path / "a").config == made.config


class Hub:
    """A hub in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, {}

    def __call__(self, token: str | None = None) -> Hub:
        return self

    def create_repo(self, repo_id: str, **_: Any) -> Any:
        return SimpleNamespace(repo_id=repo_id)

    def upload_folder(self, repo_id: str, folder_path: Path, **_: Any) -> str:
        for path in folder_path.iterdir():
            (self.folder / path.name).write_bytes(path.read_bytes())
        return f"commit of {repo_id}"

    def download(self, name: str, **asked: Any) -> str:
        self.asked = {"name": name, **asked}
        return str(self.folder)


def test_pushed_and_fetched(made: hub.GECO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = Hub(tmp_path)
    monkeypatch.setattr(hub_mixin, "HfApi", there)
    monkeypatch.setattr(hub, "snapshot_download", there.download)
    assert made.push_to_hub("team/geco-photo") == "commit of team/geco-photo"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    found = hub.GECO.from_pretrained("team/geco-photo", revision="v1")
    assert torch.equal(found(X, EDGES), made(X, EDGES))
    assert not found.training
    assert there.asked["name"] == "team/geco-photo"
    assert there.asked["revision"] == "v1"
    assert there.asked["allow_patterns"] == ["config.json", "model.safetensors"]


def test_a_pickle_is_not_read(made: hub.GECO, tmp_path: Path) -> None:
    made.save_pretrained(tmp_path)
    torch.save(made.state_dict(), tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"model\.safetensors is missing"):
        hub.GECO.from_pretrained(tmp_path)


def test_a_config_of_another_kind_is_refused_and_saving_heals_it(made: hub.GECO, tmp_path: Path) -> None:
    made.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text("[1, 2]")
    with pytest.raises(ValueError, match="does not describe a GECO model"):
        hub.GECO.from_pretrained(tmp_path)
    made.save_pretrained(tmp_path)
    assert torch.equal(hub.GECO.from_pretrained(tmp_path)(X, EDGES), made(X, EDGES))
