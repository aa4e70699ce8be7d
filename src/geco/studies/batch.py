"""A batch of many small graphs: our operator beside multi-head attention on the padded batch, as PyG's GPSConv does it.

``python -m geco.studies.batch`` uses the sizes of Peptides-func graphs, from its file if it is there, else drawn alike.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.utils import to_dense_batch

from geco.console import print_table
from geco.nn import GECOConv
from geco.studies.measure import best_of, write_json


class PaddedAttention(nn.Module):
    """`torch.nn.MultiheadAttention` over graphs padded to the largest one."""

    def __init__(self, channels: int, heads: int) -> None:
        """Make the projections."""
        super().__init__()
        self.attention = nn.MultiheadAttention(channels, heads, batch_first=True)

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        """Attend within each graph, ``(N, D)`` to ``(N, D)``."""
        dense, mask = to_dense_batch(x, batch)
        y: Tensor = self.attention(dense, dense, dense, key_padding_mask=~mask, need_weights=False)[0][mask]
        return y


def sizes(count: int, folder: Path | None) -> tuple[list[int], str]:
    """Return the sizes of ``count`` graphs and where they come from."""
    path = None if folder is None else folder / "peptides-func" / "peptides_func_ogb.npz"
    generator = np.random.default_rng(0)
    if path is not None and path.exists():
        known = np.load(path)["num_nodes"]
        return [int(n) for n in generator.choice(known, count, replace=False)], "Peptides-func"
    return [int(n) for n in np.clip(generator.lognormal(4.85, 0.55, count), 8, 444)], "drawn like Peptides-func"


def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.batch", description=__doc__)
    parser.add_argument("--graphs", type=int, default=128)
    parser.add_argument("--channels", type=int, default=96)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    torch.manual_seed(0)
    each, origin = sizes(options.graphs, Path(options.data_dir) if options.data_dir else None)
    batch = torch.repeat_interleave(torch.arange(len(each)), torch.tensor(each))
    x, top = torch.randn(len(batch), options.channels, requires_grad=True), torch.randn(len(batch), options.channels)
    ring = torch.stack([torch.arange(len(batch)), torch.arange(len(batch)).roll(-1)])
    edges = ring[:, batch[ring[0]] == batch[ring[1]]]
    edges = torch.cat([edges, edges.flip(0)], 1)
    conv, attention = GECOConv(options.channels), PaddedAttention(options.channels, options.heads)
    print(f"{len(each)} graphs, sizes {origin}: {min(each)} to {max(each)}, {len(batch):,} nodes, {options.channels} channels")

    def time(module: nn.Module, *rest: Tensor) -> tuple[float, float]:
        def infer() -> None:
            with torch.no_grad():
                module(x, *rest)

        return best_of(infer, options.repeats), best_of(lambda: module(x, *rest).backward(top), options.repeats)

    results = {"geco conv": time(conv, edges, batch), "padded attention": time(attention, batch)}
    first = results["geco conv"]
    table = [["model", "inference", "ratio", "forward+backward", "ratio"]]
    for name, (infer, step) in results.items():
        table.append(
            [name, f"{1e3 * infer:.1f} ms", f"{infer / first[0]:.2f}", f"{1e3 * step:.1f} ms", f"{step / first[1]:.2f}"]
        )
    print_table(table)
    write_json(options.json, "python -m geco.studies.batch " + " ".join(sys.argv[1:]), {"sizes": origin, **results})


if __name__ == "__main__":
    main()
