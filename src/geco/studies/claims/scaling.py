"""The paper's runtime table: GECO against fused attention on random graphs, from 512 to 4,194,304 nodes.

Both are timed in turns in one process for each size, so that a machine whose speed changes does not favour one of them,
and weighed in a process of their own. Attention is measured as far as a step takes no longer than a limit; beyond that
its time is that of the largest graph measured, times the square of how many times more nodes there are.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from geco.errors import ResourceError
from geco.machine import available_memory, reset_peak, resident
from geco.studies.claims.scaling_answer import answer
from geco.studies.claims.study import Measurement, Plan, Result, Scale, Study, Unit
from geco.studies.contenders import Contender, make, random_graph
from geco.studies.measure import in_turns
from geco.studies.scale import KEEP_PAGES

__all__ = ["STUDY", "measured", "plan"]

T = TypeVar("T")
CHANNELS = 108
NAMES = {"geco": "geco conv", "paper": "geco conv, paper filter", "attention": "fused attention"}
SIZES: dict[Scale, list[int]] = {
    "quick": [512, 1024, 2048],
    "default": [2**k for k in range(9, 23)],
    "full": [2**k for k in range(9, 23)],
}
LIMIT: dict[Scale, float] = {"quick": 2.0, "default": 60.0, "full": 1800.0}  # seconds of one step of attention
NEED = (
    4500.0  # bytes a node that a step takes at most: 15.1 GB at 4,194,304 nodes (results/scale-4m.json), and the graph
)


def plan(scale: Scale, seeds: Sequence[int]) -> Plan:
    """Return a unit for each size; seeds change nothing, as nothing is trained."""
    repeats, apart = (2, False) if scale == "quick" else (10, True)
    units = []
    for nodes in SIZES[scale]:
        about = {"nodes": nodes, "channels": CHANNELS, "limit": LIMIT[scale], "repeats": repeats, "apart": apart}
        units.append(Unit(f"nodes-{nodes}", Measurement(partial(measured, about), about), {"nodes": nodes}))
    words = (
        f"Random graphs (Erdős–Rényi, average degree 10, so a density of 10/N), {CHANNELS} channels, float32, on the "
        "CPU; one GECO operator of order 2 with our filters and with the paper's, and one layer of attention with 4 "
        "heads by PyTorch's fused kernel, with its projections. Best time of several, all taking turns in one process; "
        "forward is without gradients. Memory is the peak of two forward and backward passes above graph and features, "
        "in a process of its own (not with --quick). Attention is measured as long as one forward and backward "
        f"pass takes up to {LIMIT[scale]:g} seconds. The paper's times are of an A100, and it does not say whether a "
        "backward pass is in them."
    )
    return Plan(words, units)


def measured(about: dict[str, Any], known: Mapping[str, Result]) -> Result:
    """Return seconds and peak bytes of every contender at one size.

    Args:
        about: the settings: ``nodes``, ``channels``, ``limit``, ``repeats``, ``apart``.
        known: what smaller sizes gave, which decides whether attention is measured.
    """
    free = available_memory(swap=False)
    if free is not None and about["nodes"] * NEED > free:
        raise ResourceError(
            f"{about['nodes']:,} nodes need {about['nodes'] * NEED / 2**30:.0f} GiB, {free / 2**30:.0f} GiB are free"
        )
    wanted = expected(about["nodes"], known) <= about["limit"]
    names = {key: name for key, name in NAMES.items() if key != "attention" or wanted}
    found: Result = _apart(about, KEEP_PAGES, times, names, about)
    if about["apart"] and sys.platform == "linux":  # in a process that did other things before, it would mean nothing
        for key, name in names.items():
            found[key]["peak"] = _apart(about, {}, peak, name, about)
    return found


def expected(nodes: int, known: Mapping[str, Result]) -> float:
    """Return the seconds that a step of attention will take, by the largest graph measured so far.

    Example:
        >>> expected(400, {"nodes-100": {"attention": {"step": 2.0}}, "nodes-200": {}})
        32.0
    """
    past = {
        int(key.partition("-")[2]): result["attention"]["step"]
        for key, result in known.items()
        if "attention" in result
    }
    return past[max(past)] * (nodes / max(past)) ** 2 if past else 0.0


def _apart(about: dict[str, Any], pages: dict[str, str], run: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a process of its own, which treats the pages it frees as told, or here."""
    if not about["apart"]:
        return run(*arguments)
    for name in KEEP_PAGES:  # read by the processes started from here on
        os.environ.pop(name, None)
    os.environ.update(pages)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(run, arguments)


def times(names: dict[str, str], about: dict[str, Any]) -> Result:
    """Return seconds of a forward pass and of a forward and backward pass of each, taking turns."""
    warnings.filterwarnings("ignore", message="Sparse")
    x, top, contenders = _made(names, about)
    runs: dict[str, Callable[[], object]] = {}
    for key, contender in contenders.items():
        runs[f"{key}/forward"] = partial(forward, contender, x)
        runs[f"{key}/step"] = partial(step, contender, x, top)
    found = in_turns(runs, about["repeats"], about["limit"])
    return {key: {kind: found[f"{key}/{kind}"] for kind in ("forward", "step")} for key in names}


def peak(name: str, about: dict[str, Any]) -> int:
    """Return the bytes at the peak of two forward and backward passes above those of the graph and its features.

    What PyTorch loads for the first of them is in it, some ten MiB.
    """
    warnings.filterwarnings("ignore", message="Sparse")
    x, top, contenders = _made({"it": name}, about)
    before = resident("VmRSS")
    reset_peak()
    for _ in range(2):
        step(contenders["it"], x, top)
    return resident() - before


def _made(names: dict[str, str], about: dict[str, Any]) -> tuple[Tensor, Tensor, dict[str, Contender]]:
    nodes, channels = about["nodes"], about["channels"]
    edges = random_graph(nodes)
    x, top = torch.randn(nodes, channels, requires_grad=True), torch.randn(nodes, channels)
    return x, top, {key: make(name, edges, nodes, channels) for key, name in names.items()}


def forward(contender: Contender, x: Tensor) -> None:
    """Do a forward pass without gradients."""
    with torch.no_grad():
        contender.step(x)


def step(contender: Contender, x: Tensor, top: Tensor) -> None:
    """Do a forward and backward pass."""
    for tensor in (x, *contender.module.parameters()):
        tensor.grad = None
    contender.step(x).backward(top)


STUDY = Study(plan, answer)
