"""What is worked out once, and when not."""

from __future__ import annotations

import torch
from torch import Tensor

from geco.nn.graph.remembered import cached


def test_an_export_leaves_nothing_behind() -> None:
    @cached(8)
    def places(n: int) -> Tensor:
        return torch.arange(n)

    class Shift(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + places(3)

    program = torch.export.export(Shift(), (torch.ones(3),)).module()
    assert type(places(3)) is Tensor
    assert torch.equal(program(torch.ones(3)), 1.0 + places(3))
