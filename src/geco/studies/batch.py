"""A batch of many small graphs: our operator beside attention, ours by blocks of similar size and that on the padded
batch.

``python -m geco.studies.batch`` uses the sizes of Peptides-func graphs, from its file if it is there, else drawn alike:
a random batch, and one of graphs of similar size, as a loader that groups by size makes it. The models take turns; with
``--cpu`` and OMP_NUM_THREADS=1 ratios hold on a busy machine, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.utils import to_dense_batch

from geco.console import print_table
from geco.nn import GECOConv
from geco.nn.gps.mixers import SelfAttention
from geco.studies.measure import held_bytes, in_turns, write_json

KNOWN = 1024  # sizes of which the batch of similar ones takes those in the middle


class PaddedAttention(nn.Module):
    """`torch.nn.MultiheadAttention` over graphs padded to the largest one, as PyG's GPSConv does it."""

    def __init__(self, channels: int, heads: int) -> None:
        """Make the projections."""
        super().__init__()
        self.attention = nn.MultiheadAttention(channels, heads, batch_first=True)

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        """Attend within each graph, ``(N, D)`` to ``(N, D)``."""
        dense, mask = to_dense_batch(x, batch)
        y: Tensor = self.attention(dense, dense, dense, key_padding_mask=~mask, need_weights=False)[0][mask]
        return y


def sizes(count: int, folder: Path | None, similar: bool = False) -> tuple[list[int], str]:
    """Return the sizes of ``count`` graphs, drawn at random or those in the middle of many, and where they come
    from.
    """
    path = None if folder is None else folder / "peptides-func" / "peptides_func_ogb.npz"
    generator = np.random.default_rng(0)
    many = max(count, KNOWN) if similar else count
    if path is not None and path.exists():
        found = generator.choice(np.load(path)["num_nodes"], many, replace=False)
        origin = "Peptides-func"
    else:
        found = np.clip(generator.lognormal(4.85, 0.55, many), 8, 444)
        origin = "drawn like Peptides-func"
    first = (many - count) // 2
    return [int(n) for n in (np.sort(found)[first : first + count] if similar else found)], origin


def measure(
    each: list[int], channels: int, heads: int, repeats: int, clock: Callable[[], float]
) -> dict[str, dict[str, float]]:
    """Return each model's seconds of inference and of a step and bytes held for backward, on graphs that are paths."""
    batch = torch.repeat_interleave(torch.arange(len(each)), torch.tensor(each))
    x, top = torch.randn(len(batch), channels, requires_grad=True), torch.randn(len(batch), channels)
    path = torch.stack([torch.arange(len(batch) - 1), torch.arange(1, len(batch))])
    path = path[:, batch[path[0]] == batch[path[1]]]
    conv, attention, padded = GECOConv(channels), SelfAttention(channels, heads), PaddedAttention(channels, heads)
    models: dict[str, Callable[[], Tensor]] = {
        "geco conv": partial(conv, x, torch.cat([path, path.flip(0)], 1), batch),
        "attention": partial(attention, x, batch),
        "padded attention": partial(padded, x, batch),
    }
    infer = in_turns({name: torch.no_grad()(run) for name, run in models.items()}, repeats, clock=clock)
    step = in_turns({name: partial(_step, run, top) for name, run in models.items()}, repeats, clock=clock)
    known = [x, batch, *(p for m in (conv, attention, padded) for p in m.parameters())]
    return {
        name: {"infer": infer[name], "step": step[name], "held": held_bytes(run, known)} for name, run in models.items()
    }


def _step(run: Callable[[], Tensor], top: Tensor) -> None:
    run().backward(top)


def _report(results: dict[str, dict[str, float]]) -> None:
    first = results["geco conv"]
    table = [["model", "inference", "ratio", "forward+backward", "ratio", "held", "ratio"]]
    for name, found in results.items():
        shown = (f"{1e3 * found['infer']:.1f} ms", f"{1e3 * found['step']:.1f} ms", f"{found['held'] / 2**20:.0f} MiB")
        ratios = (f"{found[key] / first[key]:.2f}" for key in ("infer", "step", "held"))
        table.append([name, *(cell for pair in zip(shown, ratios, strict=True) for cell in pair)])
    print_table(table)


def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    parser = argparse.ArgumentParser(prog="python -m geco.studies.batch", description=__doc__)
    parser.add_argument("--graphs", type=int, default=128)
    parser.add_argument("--channels", type=int, default=96)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--cpu", action="store_true", help="CPU time in place of time on the clock")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("GECO_DATA"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    torch.manual_seed(0)
    clock = time.process_time if options.cpu else time.perf_counter
    results: dict[str, object] = {}
    for kind in ("random", "similar sizes"):
        each, origin = sizes(options.graphs, Path(options.data_dir) if options.data_dir else None, kind != "random")
        print(f"{len(each)} graphs, {kind}, {origin}: {min(each)} to {max(each)} nodes, {sum(each):,} in all")
        found = measure(each, options.channels, options.heads, options.repeats, clock)
        _report(found)
        results |= {"sizes": origin, kind: found}
    write_json(options.json, "python -m geco.studies.batch " + " ".join(sys.argv[1:]), results)


if __name__ == "__main__":
    main()
