"""Outputs in the units of the targets."""

from __future__ import annotations

from pathlib import Path

import torch
from torch_geometric.data import Data

from geco.nn.network.network import Network
from geco.nn.network.units import Units


def test_moments_of_what_is_known() -> None:
    units = Units(4)
    nan = torch.nan
    units.fit(torch.tensor([[1.0, nan, 1e6, nan], [3.0, 5.0, 1e6, nan], [nan, 5.0, 1e6 + 10, nan]]))
    torch.testing.assert_close(units.mean, torch.tensor([2.0, 5.0, 1e6 + 10 / 3, 0.0]))
    torch.testing.assert_close(units.std, torch.tensor([1.0, 1.0, 4.714045, 1.0]))


def test_a_network_says_values_in_their_units_and_keeps_them(tmp_path: Path) -> None:
    data = Data(x=torch.randn(5, 3), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
    network = Network("gcn", 3, "node", 2, hidden_channels=4, standardise_targets=True).eval()
    plain = Network("gcn", 3, "node", 2, hidden_channels=4).eval()
    plain.load_state_dict({k: v for k, v in network.state_dict().items() if not k.startswith("units.")})
    assert network.units is not None
    network.units.fit(torch.tensor([[100.0, 0.1], [300.0, 0.3]]))
    wanted = plain(data) * torch.tensor([100.0, 0.1]) + torch.tensor([200.0, 0.2])
    torch.testing.assert_close(network(data), wanted)
    network.save_pretrained(tmp_path)
    assert torch.equal(Network.from_pretrained(tmp_path)(data), network(data))
