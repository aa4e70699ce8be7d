"""Products in blocks are the products."""

from __future__ import annotations

import pytest
import torch

from geco.nn.ops.fft_products import ROWS, channel_first, channel_last, mixed, project, unmix, unproject
from geco.nn.ops.limits import ONE_PRODUCT
from tests.conftest import relative_error


@pytest.mark.parametrize("nodes", [1, 7, ROWS + 1, ONE_PRODUCT, ONE_PRODUCT + 1])
def test_project_and_back(nodes: int) -> None:
    parts = [torch.randn(nodes, c, dtype=torch.float64) for c in (3, 2)]
    centre = [part.mean(0) for part in parts]
    weight, bias = torch.randn(3, 4, 5, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    h = torch.cat(parts, 1) - torch.cat(centre)
    z = project(parts, centre, weight, bias, zeros=1)
    assert relative_error(z[..., :-1], (h @ weight.flatten(0, 1).t() + bias.flatten()).t().view(3, 4, -1)) < 1e-13
    assert not z[..., -1].any()
    dz, dparts = torch.randn(3, 4, nodes, dtype=torch.float64), [torch.empty_like(part) for part in parts]
    wanted = dz.flatten(0, 1).t() @ weight.flatten(0, 1)
    for times, add in ((1, False), (2, True)):
        dweight = unproject(dz, parts, centre, weight, dparts, add)
        assert relative_error(torch.cat(dparts, 1), times * wanted) < 1e-13
        assert relative_error(dweight, (dz.flatten(0, 1) @ h).view_as(weight)) < 1e-12


@pytest.mark.parametrize("columns", [2, 2048, 5000])
def test_mix_and_back(columns: int) -> None:
    mix, feature = torch.randn(2, 3, 4, dtype=torch.float64), torch.randn(4, columns, dtype=torch.float64)
    assert relative_error(mixed(mix, feature), mix @ feature) < 1e-13
    dfilters, counts = torch.randn(2, 3, columns, dtype=torch.float64), torch.rand(columns, dtype=torch.float64)
    dfeature = torch.ones_like(feature)
    assert relative_error(unmix(dfilters, mix, feature, counts, dfeature), (dfilters * counts) @ feature.t()) < 1e-12
    assert relative_error(dfeature - 1, mix.flatten(0, 1).t() @ dfilters.flatten(0, 1)) < 1e-12


def test_transposes() -> None:
    x = torch.randn(1500, 3)
    assert torch.equal(channel_first(x), x.t())
    out = torch.empty(1500, 3)
    channel_last(x.t(), out)
    assert torch.equal(out, x)
