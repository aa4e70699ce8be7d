"""``geco env`` and ``geco bench``: this machine, and how fast GECO is on it."""

from __future__ import annotations

from typing import Annotated

from tyro.conf import arg

from geco import __version__
from geco.cli.options import File

__all__ = ["bench", "env"]

Sizes = Annotated[tuple[int, ...], arg(metavar="N", help_behavior_hint="")]
Count = Annotated[int, arg(metavar="R", help_behavior_hint="")]


def env() -> None:
    """Print the versions and the machine that results depend on, for a report of a problem."""
    from geco.data.paths import cache_folder
    from geco.machine import available_memory, environment
    from geco.nn import GlobalContext

    free, context = available_memory(), GlobalContext(1, 1)
    found = {
        "geco": __version__, **environment(),
        "memory": "unknown" if free is None else f"{free / 2**30:.1f} GiB available",
        "cache": str(cache_folder()),
        "plan(1000)": str(context.plan([1000])), "plan(1000000)": str(context.plan([1_000_000])),
    }  # fmt: skip
    width = max(map(len, found))
    for name, value in found.items():
        print(f"{name:{width}}  {value}")


def bench(nodes: Sizes = (1024, 16384, 131072), repeats: Count = 5, json: File = None) -> None:
    """Time and weigh a training step of GECO beside its plain composition, attention, GPS and SGFormer, side by side.

    Args:
        nodes: sizes of random graphs of average degree 10.
        repeats: turns of each; the best counts.
        json: file for the results.
    """
    from geco.studies import step

    kept = [] if json is None else ["--json", str(json)]
    step.main(["--nodes", *map(str, nodes), "--repeats", str(repeats), "--real", *kept])
