"""Variants of one network, which differ in settings, on several data sets: what most of the studies are.

A variant is put over the settings of a data set; seeds are the outer loop, so that every variant has one run before any
has two. What comes out is a table of variants by data sets with the paper's figures, bars, and words that count how far
both agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from geco.configs import shipped
from geco.data.registry import Embedded
from geco.names import ENCODINGS, MIXERS
from geco.pages import BarChart, Block, Cell, Facets, Heading, Table
from geco.studies.claims.page import mean_cell, spread_of
from geco.studies.claims.study import Answer, Done, LeftOut, Plan, Result, Scale, Study, Training, Unit
from geco.studies.variants import nested
from geco.train.config import Config, from_table, read_toml
from geco.train.metrics import METRICS

if TYPE_CHECKING:
    from geco.train.engine import Trainer

__all__ = ["Bench", "Grid", "Paper", "agreement", "grid_study", "runs_by", "sizes"]

Paper = Mapping[str, float]  # score of each variant in the paper
Settings = dict[str, Any]  # by dotted name
Scores = dict[str, list[float]]  # of each variant


@dataclass(frozen=True)
class Bench:
    """A data set of a study at one scale.

    Args:
        config: shipped configuration that variants are put over; the defaults if there is none of this name.
        settings: put over it first.
        share: of the training graphs.
        made: how it is made, if it needs no files.
        weights: about how many each network has; 0 leaves the width.
        paper: figures to compare with.
        note: what a reader of the scores must know.
        only: variants that are trained here; all if there are none.
        without: variants that are not, and why.
    """

    config: str = ""
    settings: Settings = field(default_factory=dict)
    share: float = 1.0
    made: Embedded | None = None
    weights: int = 0
    paper: Paper = field(default_factory=dict)
    note: str = ""
    only: tuple[str, ...] = ()
    without: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Grid:
    """What is compared.

    Args:
        about: how, in a sentence.
        variants: settings of each, in the order of the table.
        data: benches by the name of the data set, at each scale.
        gone: what cannot be studied, and why.
        after: what else is measured of each with its best weights.
        more: further charts, tables and words of what was done.
    """

    about: str
    variants: Mapping[str, Settings]
    data: Mapping[Scale, Mapping[str, Bench]]
    gone: Sequence[LeftOut] = ()
    after: Callable[[Trainer], Result] | None = None
    more: Callable[[Sequence[Done]], Answer] | None = None


def grid_study(grid: Grid, seeds: Mapping[Scale, int] | None = None) -> Study:
    """Return the study of a grid."""

    def plan(scale: Scale, seeds: Sequence[int]) -> Plan:
        there = {name: settings for name, settings in grid.variants.items() if not missing(settings)}
        gone = [LeftOut(name, missing(settings)) for name, settings in grid.variants.items() if name not in there]
        benches = grid.data[scale].items()
        gone += [LeftOut(f"{name} on {data}", why) for data, bench in benches for name, why in bench.without.items()]
        units = [
            Unit(f"{data}/{plain(variant)}/seed-{seed}", training(data, bench, there[variant], seed, grid.after),
                 {"data": data, "variant": variant, "seed": seed, "paper": bench.paper.get(variant)})
            for seed in seeds
            for data, bench in benches
            for variant in (bench.only or there)
            if variant in there and variant not in bench.without
        ]  # fmt: skip
        notes = [f"{data}: {bench.note}." for data, bench in benches if bench.note]
        return Plan(" ".join([grid.about, *notes]), units, [*gone, *grid.gone])

    chosen: dict[str, Any] = {} if seeds is None else {"seeds": seeds}
    return Study(plan, lambda done: _answer(grid, done), **chosen)


def missing(settings: Settings) -> str:
    """Return why this version cannot build a variant, or nothing.

    Example:
        >>> missing({"model.mixer": "wavelets"}), missing({"model.mixer": "geco"})
        ('this version has no mixer wavelets', '')
    """
    mixer = settings.get("model.mixer", "none")
    names = [text.partition(":")[0] for text in settings.get("data.encodings", ())]
    unknown = next((name for name in names if name not in ENCODINGS), "")
    if mixer not in (*MIXERS, "none"):
        return f"this version has no mixer {mixer}"
    return f"this version has no encoding {unknown}" if unknown else ""


def plain(name: str) -> str:
    """Return a name as part of a path.

    Example:
        >>> plain("Conv-10"), plain("paper's filter")
        ('conv-10', 'paper-s-filter')
    """
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def training(
    data: str, bench: Bench, settings: Settings, seed: int, after: Callable[[Trainer], Result] | None = None
) -> Training:
    """Return the training of a variant; unknown and ill-typed settings are refused."""
    known = shipped()
    config = read_toml(known[bench.config]) if bench.config in known else Config()
    for more in (bench.settings, settings):
        config = from_table(nested(more), config, f"the study on {data}")
    config = replace(config, data=replace(config.data, name=data), seed=seed)
    return Training(config, bench.made, bench.share, bench.weights, after)


def runs_by(done: Sequence[Done], data: str) -> dict[str, list[Result]]:
    """Return the results of each variant on a data set, without those that diverged."""
    found: dict[str, list[Result]] = {}
    for unit in done:
        if unit.facts["data"] == data and "failed" not in unit.result:
            found.setdefault(unit.facts["variant"], []).append(unit.result)
    return found


def _answer(grid: Grid, done: Sequence[Done]) -> Answer:
    if not done:
        return Answer("Nothing is trained yet.", [], [])
    words, charts, tables = [], list[Block](), list[Table]()
    for data in dict.fromkeys(unit.facts["data"] for unit in done):
        runs = runs_by(done, data)
        if runs:
            words.append(f"{_words(data, runs, _paper(done, data))} {sizes(runs)}")
            charts += [Heading(data), Facets([_bars(data, runs), *_papers(runs, _paper(done, data))])]
            tables.append(_table(data, runs, _paper(done, data)))
    failed = [
        f"{u.facts['variant']} on {u.facts['data']} with seed {u.facts['seed']}" for u in done if "failed" in u.result
    ]
    words += [f"Diverged: {', '.join(failed)}."] if failed else []
    more = None if grid.more is None else grid.more(done)
    if more is not None:
        words, charts, tables = [*words, more.words], [*charts, *more.charts], [*tables, *more.tables]
    return Answer("\n".join(filter(None, words)), charts, tables)


def _paper(done: Sequence[Done], data: str) -> dict[str, float]:
    facts = [unit.facts for unit in done if unit.facts["data"] == data]
    return {fact["variant"]: fact["paper"] for fact in facts if fact["paper"] is not None}


def _sign(runs: Mapping[str, Sequence[Result]]) -> int:
    metric = next(iter(runs.values()))[0]["metric"]
    return 1 if METRICS[metric].better == "higher" else -1


def _tests(runs: Mapping[str, Sequence[Result]]) -> Scores:
    return {variant: [run["test"] for run in found] for variant, found in runs.items()}


def _words(data: str, runs: Mapping[str, Sequence[Result]], paper: Paper) -> str:
    scores, sign = _tests(runs), _sign(runs)
    order = sorted(scores, key=lambda variant: -sign * spread_of(scores[variant])[0])
    first, mean, spread = order[0], *spread_of(scores[order[0]])
    level = [v for v in order[1:] if abs(spread_of(scores[v])[0] - mean) <= spread + spread_of(scores[v])[1]]
    told = f"On {data}, {first} is first with {mean:.4f} ± {spread:.4f}"
    told += (
        f"; {', '.join(level)} cannot be told from it within the spreads."
        if level
        else ", ahead by more than the spreads."
    )
    last = order[-1]
    told += f" Last is {last} with {spread_of(scores[last])[0]:.4f}." if len(order) > 1 else ""
    return told + (f" {agreement(scores, paper, sign)}" if len(set(paper) & set(scores)) > 1 else "")


def sizes(runs: Mapping[str, Sequence[Result]]) -> str:
    """Return how many weights the smallest and the largest network have.

    Example:
        >>> sizes({"gcn": [{"parameters": 1200}], "geco": [{"parameters": 3400}, {"parameters": 3400}]})
        'The smallest network has 1,200 weights (gcn), the largest 3,400 (geco).'
    """
    count = {variant: found[0]["parameters"] for variant, found in runs.items()}
    small, large = min(count, key=count.__getitem__), max(count, key=count.__getitem__)
    if count[small] == count[large]:
        return f"{'All networks have' if len(count) > 1 else 'The network has'} {count[small]:,} weights."
    return f"The smallest network has {count[small]:,} weights ({small}), the largest {count[large]:,} ({large})."


def agreement(scores: Scores, paper: Paper, sign: int = 1) -> str:
    """Return how many pairs of variants stand as in the paper, the other way round, or too near to say.

    Args:
        scores: of each variant here.
        paper: its figures.
        sign: 1 if higher is better.

    Example:
        >>> agreement({"a": [0.9, 0.91], "b": [0.5, 0.51], "c": [0.5, 0.52]}, {"a": 0.6, "b": 0.7, "c": 0.5})
        'Of 3 pairs that the paper orders, 1 stand the same way here, 1 the other way round, 1 too near to say.'
    """
    both = [variant for variant in paper if variant in scores]
    same = turned = near = 0
    for i, a in enumerate(both):
        for b in both[:i]:
            apart, wanted = spread_of(scores[a])[0] - spread_of(scores[b])[0], paper[a] - paper[b]
            if abs(apart) <= spread_of(scores[a])[1] + spread_of(scores[b])[1] or wanted == 0:
                near += 1
            elif math.copysign(1, apart * sign) == math.copysign(1, wanted * sign):
                same += 1
            else:
                turned += 1
    return (
        f"Of {same + turned + near} pairs that the paper orders, {same} stand the same way here, {turned} the other "
        f"way round, {near} too near to say."
    )


def _bars(data: str, runs: Mapping[str, Sequence[Result]]) -> BarChart:
    found = {variant: spread_of(scores) for variant, scores in _tests(runs).items()}
    first = next(iter(runs.values()))[0]
    better = METRICS[first["metric"]].better
    guess = {name: scores["test"] for name, scores in first["baseline"].items() if "test" in scores}
    note = f"Test {first['metric']}, {better} is better; thin lines are a standard deviation over seeds."
    note += "".join(f" A guess without features ({name}) has {score:.4f}." for name, score in guess.items())
    bars = [(variant, mean) for variant, (mean, _) in found.items()]
    return BarChart(f"Scores on {data}", first["metric"], bars, [spread for _, spread in found.values()], note)


def _papers(runs: Mapping[str, Sequence[Result]], paper: Paper) -> list[Block]:
    """Return the paper's figures as bars, if it has any."""
    bars = [(variant, paper[variant]) for variant in runs if variant in paper]
    metric = next(iter(runs.values()))[0]["metric"]
    return [BarChart("The same in the paper", metric, bars, note="With all data and its own settings.")] if bars else []


def _table(data: str, runs: Mapping[str, Sequence[Result]], paper: Paper) -> Table:
    first, sign = next(iter(runs.values()))[0], _sign(runs)
    means = {variant: spread_of(scores)[0] for variant, scores in _tests(runs).items()}
    best = max(means, key=lambda variant: sign * means[variant])
    rows: list[list[str | float | Cell]] = []
    for variant, found in runs.items():
        test = mean_cell([run["test"] for run in found])
        row: list[str | float | Cell] = [variant, replace(test, mark="best") if variant == best else test]
        row += [mean_cell([run["valid"] for run in found])]
        row += [Cell(f"{paper[variant]:.4f}", paper[variant]) if variant in paper else Cell("–")] if paper else []
        seconds = spread_of([run["epoch_seconds"] for run in found])[0]
        rows.append([*row, float(found[0]["parameters"]), float(found[0]["hidden"]), Cell(f"{seconds:.2f}", seconds)])
    columns = ["", "test", "validation", *(["paper"] if paper else []), "weights", "width", "seconds an epoch"]
    note = "Mean ± sample standard deviation (seeds), at the best validation epoch; seconds are those of training."
    return Table(columns, rows, f"{data}, {first['metric']}", note=note)
