"""Which models find an answer that is 16 and 64 steps away: ``python -m geco.studies.echo``.

GECO with windows, with slow waves and with mean filters, all in the order derived from the graph, beside a GCN and
attention without positions: equal depth and width, equal trainings, as the configurations ``echo`` and ``echo-64`` have
them. Chance is 1/8. ``--table`` prints what the records in results/echo hold and writes results/echo.md.
"""

from __future__ import annotations

from geco.studies.variants import Budget, Settings, Study
from geco.studies.variants import main as run

__all__ = ["STUDY", "main"]

VARIANTS: dict[str, Settings] = {
    **{
        f"geco-{name}": {"model.filter": name, "model.permutation": "structure"}
        for name in ("windows", "waves", "mean")
    },
    "gcn": {"model.name": "gcn"},
    "transformer": {"model.name": "transformer"},
}
TEXT = """# An answer from 16 and 64 steps away

Written by `python -m geco.studies.echo --table` from the records in [echo/](echo), which hold command, commit,
versions, all settings and every run. Accuracy; chance is 0.125. All networks have three layers of 64 and are trained
alike; GECO's node order is derived from the graph. Mean ± sample standard deviation (number of seeds).
"""
STUDY = Study("geco.studies.echo", TEXT, VARIANTS, {name: Budget(name) for name in ("echo", "echo-64")})


def main(arguments: list[str] | None = None) -> None:
    """Run the study from the command line."""
    run(STUDY, __doc__, arguments)


if __name__ == "__main__":
    main()
