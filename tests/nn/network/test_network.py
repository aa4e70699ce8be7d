"""Networks on disk, those of earlier formats too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from geco.nn.network.network import Network

DATA = Data(x=torch.randn(3, 5), edge_index=torch.tensor([[0, 1], [1, 2]]))


@pytest.mark.parametrize("body", ["geco", "hybrid", "gcn"])
def test_format_3(body: str, tmp_path: Path) -> None:
    """Width and depth had names of their own."""
    network = Network(body, 5, "node", 2, hidden_channels=8, num_layers=3).eval()
    network.save_pretrained(tmp_path)
    stored = json.loads((tmp_path / "config.json").read_text())
    config = stored["config"]
    config["hidden"], config["layers"] = config.pop("hidden_channels"), config.pop("num_layers")
    (tmp_path / "config.json").write_text(json.dumps({**stored, "format": 3}))
    found = Network.from_pretrained(tmp_path)
    assert found.config == network.config
    assert torch.equal(found(DATA), network(DATA))
