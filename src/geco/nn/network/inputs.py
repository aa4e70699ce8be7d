r"""The input side of a network: all that the nodes, and all that the edges of a batch bring along, as vectors of D
channels.

Shapes: N nodes, M edges, D channels, E channels of an encoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from geco.nn.network.encoders import Init, make_encoder
from geco.nn.network.positional import LaplacianDeepSet, make_position
from geco.nn.resolve import check_name

__all__ = ["EdgeEncoder", "Join", "NodeEncoder"]

Join = Literal["concat", "add"]


class NodeEncoder(nn.Module):
    r"""Features and encodings of a node to one vector: :math:`h_i = [f(x_i), p^1_i, p^2_i, \dots]` or
    :math:`h_i = f(x_i) + p^1_i + p^2_i + \dots`.

    Concatenated, encodings take their channels and the features the rest, as in GraphGPS, so that the whole is D wide.
    Added, each is D wide.

    Args:
        channels: D.
        columns: of ``data.x``.
        categories: number of categories of each column, if x holds categories.
        encodings: by name of the array ``data[name]``, the options of `make_position` as a dict: ``kind``, ``columns``,
            ``channels`` (only where concatenated) and so on.
        join: ``concat`` or ``add``.
        standardise: see `Features`.
        robust: see `Features`.
        init: see `Categories`.
        clipped: see `Categories`.

    Shapes:
        a PyG `Data` or `Batch` to (N, D).

    Example:
        >>> encoder = NodeEncoder(96, 9, encodings={"rwse": {"kind": "linear", "columns": 16, "channels": 20}})
        >>> encoder(Data(x=torch.randn(3, 9), rwse=torch.rand(3, 16))).shape, encoder.features.linear.out_features
        (torch.Size([3, 96]), 76)
    """

    def __init__(
        self,
        channels: int,
        columns: int = 0,
        categories: Sequence[int] = (),
        encodings: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        join: Join = "concat",
        standardise: bool = False,
        robust: bool = False,
        init: Init = "xavier",
        clipped: Sequence[int] = (),
    ) -> None:
        super().__init__()
        check_name("join", join, get_args(Join))
        self.join = join
        wanted = {name: {"channels": channels, **options} for name, options in (encodings or {}).items()}
        rest = channels if join == "add" else channels - sum(int(options["channels"]) for options in wanted.values())
        if rest < 1:
            raise ValueError(
                f"encodings take all {channels} channels or more; give each its channels, fewer than {channels}"
            )
        if join == "add" and any(options["channels"] != channels for options in wanted.values()):
            raise ValueError(f"encodings that are added have {channels} channels like the features; leave channels out")
        self.features = make_encoder(
            rest,
            columns,
            categories,
            standardise=standardise,
            robust=robust,
            init=init,
            clipped=clipped,
            name="x",
        )
        self.encodings = nn.ModuleDict({name: make_position(**options) for name, options in wanted.items()})

    def reset_parameters(self) -> None:
        """Reset all weights."""
        for module in (self.features, *self.encodings.values()):
            module.reset_parameters()  # type: ignore[operator]

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch whose random signs training uses."""
        for module in self.encodings.values():
            if isinstance(module, LaplacianDeepSet):
                module.set_epoch(epoch)

    def forward(self, data: Data) -> Tensor:
        """Return the vectors of all nodes."""
        missing = [name for name in self.encodings if name not in data]
        if missing:
            have = ", ".join(sorted(map(str, data.keys())))
            raise ValueError(
                f"the data lacks the encoding {missing[0]}, it has {have}; compute it first, see geco.data.encode"
            )
        batch, graph_id = data.get("batch"), data.get("graph_id")
        like = data.x if data.x is not None else torch.empty(data.num_nodes, 0, device=data.edge_index.device)
        parts = [self.features(like), *(module(data[name], batch, graph_id) for name, module in self.encodings.items())]
        return torch.cat(parts, 1) if self.join == "concat" else reduce(torch.add, parts)


class EdgeEncoder(nn.Module):
    r"""Features of an edge to a vector, :math:`e_{ij} = g(a_{ij})`; one learned vector for all edges where they have
    none.

    Args:
        channels: D.
        columns: of ``data.edge_attr``; 0 where there is none.
        categories: number of categories of each column, if it holds categories.
        standardise: see `Features`.
        robust: see `Features`.
        init: see `Categories`.

    Shapes:
        a PyG `Data` or `Batch` to (M, D).

    Example:
        >>> EdgeEncoder(8)(Data(edge_index=torch.tensor([[0, 1], [1, 0]]))).shape
        torch.Size([2, 8])
    """

    def __init__(
        self, channels: int, columns: int = 0, categories: Sequence[int] = (), *, standardise: bool = False,
        robust: bool = False, init: Init = "xavier",
    ) -> None:  # fmt: skip
        super().__init__()
        self.columns = columns
        self.features = make_encoder(
            channels, columns, categories, standardise=standardise, robust=robust, init=init, name="edge_attr"
        )

    def reset_parameters(self) -> None:
        """Reset all weights."""
        self.features.reset_parameters()

    def forward(self, data: Data) -> Tensor:
        """Return the vectors of all edges."""
        if self.columns and data.edge_attr is None:
            raise ValueError(f"the data has no edge_attr, the model was made for one of {self.columns} columns")
        out: Tensor = self.features(data.edge_attr if self.columns else data.edge_index.t())
        return out
