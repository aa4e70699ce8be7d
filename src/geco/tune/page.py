"""A study as one page: what each trial validated at, which settings mattered, and the score against each of them."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from geco import __version__
from geco.machine import environment
from geco.pages import (
    BarChart,
    Block,
    Cell,
    Facets,
    Heading,
    LineChart,
    Mark,
    Page,
    Points,
    Preformatted,
    Scatter,
    Series,
    Table,
    Tabs,
    Text,
)
from geco.tune.slots import GONE, latest
from geco.tune.space import Choice, Setting
from geco.tune.space_file import space_toml
from geco.tune.tuner import Tuner

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

__all__ = ["importances", "study_page", "write_page"]

FEW = 4  # complete trials below which nothing is said of what matters
NAMES = {"COMPLETE": "complete", "PRUNED": "left early", "FAIL": "failed", "RUNNING": "running", "WAITING": "waiting"}


def write_page(tuner: Tuner, command: str) -> None:
    """Write the page of a study into its folder."""
    study_page(tuner, command).write(tuner.folder / "page.html")


def study_page(tuner: Tuner, command: str) -> Page:
    """Return the page of a study as far as it is.

    Args:
        tuner: of the study.
        command: which made it.
    """
    trials = [trial for _, trial in sorted(latest(tuner.study).items())]
    page = Page(f"Tuning {tuner.plan.config.model.name} on {tuner.dataset.info.name}", command, _about(trials))
    page.add(Text("All scores are of the validation part; the test part is not looked at by any trial."))
    done = tuner.complete
    if not done:
        return page.add(Text("No trial is complete yet."), *_listed(tuner, trials))
    page.add(Text(tuner.said(tuner.best) + ". Its settings:"), _settings(tuner))
    page.add(Heading("History"), Tabs("History", _history(tuner, trials)))
    page.add(Heading("What mattered"), *_importance(tuner))
    slices = [_slice(tuner, name, setting) for name, setting in tuner.plan.space.items()]
    page.add(Heading("Score of the complete trials against each setting"), Facets(slices))
    return page.add(*_listed(tuner, trials), Heading("What was tried"), Preformatted(space_toml(tuner.plan.space)))


def importances(tuner: Tuner) -> dict[str, float]:
    """Return how much each setting mattered, most first, as shares of 1: PED-ANOVA, which asks how far the settings of
    the better half of the complete trials differ from those of all; empty where there are too few.
    """
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    done = tuner.complete
    varied = [name for name in tuner.plan.space if len({repr(trial.params.get(name)) for trial in done}) > 1]
    if len(done) < FEW or not varied or len({trial.value for trial in done}) < 2:
        return {}
    evaluator = PedAnovaImportanceEvaluator(target_quantile=0.5)
    return dict(get_param_importances(tuner.study, evaluator=evaluator, params=varied))


def _about(trials: Sequence[FrozenTrial]) -> list[tuple[str, str]]:
    counts = Counter(NAMES[trial.state.name] for trial in trials)
    facts = [("written", time.strftime("%Y-%m-%d %H:%M")), ("GECO", __version__)]
    machine = environment()
    facts += [(name, str(machine[key])) for key, name in (("commit", "commit"), ("torch", "torch"), ("cores", "cores"))]
    return [*facts, ("trials", ", ".join(f"{count} {name}" for name, count in counts.items()))]


def _settings(tuner: Tuner) -> Table:
    base = tuner.plan.config
    rows: list[list[str]] = []
    for name, value in tuner.values(tuner.best).items():
        section, _, key = name.partition(".")
        rows.append([name, _words(value), _words(getattr(getattr(base, section), key))])
    return Table(["setting", "best", "before"], rows, "What was tried, in the best trial and before")


def _history(tuner: Tuner, trials: Sequence[FrozenTrial]) -> list[tuple[str, Block]]:
    """Return scores by trial and the best of those so far, all of them and the upper half close up."""
    ended = {trial.user_attrs["slot"] + 1: trial for trial in trials if trial.value is not None}
    scores = {number: trial.value or 0.0 for number, trial in ended.items()}
    complete = {number: scores[number] for number, trial in ended.items() if trial.state.name == "COMPLETE"}
    better = max if tuner.higher else min
    best = [better((v for n, v in complete.items() if n <= number), default=math.nan) for number in ended]
    early = {number: score for number, score in scores.items() if number not in complete}
    series = [Series("best so far", list(ended), best, look=0), *_marks("complete", complete, 1)]
    series += _marks("left early", early, 2)
    note = "Marks are trials; the line is the best of the complete ones so far. A trial that was left early has its "
    chart = LineChart("Validation by trial", "trial", tuner.dataset.info.metric, series, note=f"{note}best until then.")
    ends = sorted((statistics.median(complete.values()), better(complete.values())))
    if ends[0] == ends[1]:
        return [("all", chart)]
    room = (ends[1] - ends[0]) / 10
    near = replace(chart, window=(ends[0] - room, ends[1] + room), note=f"{note}best until then. Only the better half.")
    return [("all", chart), ("close up", near)]


def _marks(name: str, scores: Mapping[int, float], look: int) -> list[Series]:
    """Return marks without a line between them."""
    gaps, marks = [math.nan] * len(scores), [Mark(x, y) for x, y in scores.items()]
    return [Series(name, list(scores), gaps, marks=marks, look=look)] if scores else []


def _importance(tuner: Tuner) -> list[Block]:
    found = importances(tuner)
    if not found:
        return [Text("There are too few complete trials to tell.")]
    note = "PED-ANOVA over the complete trials: how far the settings of the better half differ from those of all. With "
    note += "tens of trials this is a hint, not a finding."
    return [BarChart("Importance of settings", "share", list(found.items()), note=note)]


def _slice(tuner: Tuner, name: str, setting: Setting) -> Block:
    """Return the scores of the complete trials against one setting."""
    chosen = [(trial, tuner.values(trial)[name]) for trial in tuner.complete]
    x = [_place(value, setting) for _, value in chosen]
    said = [f"trial {trial.user_attrs['slot'] + 1}: {_words(value)}" for trial, value in chosen]
    points = Points("complete", x, [trial.value or 0.0 for trial, _ in chosen], said)
    numbered = isinstance(setting, Choice) and not _numbers(setting)
    labels = [f"{number}: {_words(value)}" for number, value in enumerate(getattr(setting, "values", ()))]
    log = _factors(setting) if isinstance(setting, Choice) else setting.log
    x_name = f"{name}, by number" if numbered else name
    note = ", ".join(labels) if numbered else ""
    return Scatter(name, x_name, tuner.dataset.info.metric, [points], log_x=log, note=note)


def _numbers(setting: Choice) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in setting.values)


def _factors(setting: Choice) -> bool:
    """Tell whether values are as far apart as factors are, such as widths."""
    return _numbers(setting) and min(setting.values) > 0 and max(setting.values) / min(setting.values) >= 4


def _place(value: Any, setting: Setting) -> float:
    if isinstance(setting, Choice) and not _numbers(setting):
        return float(setting.values.index(value))
    return float(value)


def _words(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)


def _listed(tuner: Tuner, trials: Sequence[FrozenTrial]) -> list[Block]:
    """Return all trials, failed ones with their reasons, and the attempts that were cut short."""
    names = list(tuner.plan.space)
    rows: list[list[str | float | Cell]] = []
    for trial in trials:
        facts, values = trial.user_attrs, tuner.values(trial)
        state, score = NAMES[trial.state.name], trial.value
        value = Cell("–") if score is None else Cell(f"{score:.4f}", score)
        took = facts.get("seconds")
        rows.append([
            Cell(str(facts["slot"] + 1), facts["slot"] + 1), state, value, *([Cell("–")] if took is None else [took]),
            *(_words(values[name]) if name in values else "–" for name in names),
            facts.get("reason", GONE) if trial.state.name == "FAIL" else "",
        ])  # fmt: skip
    columns = ["trial", "state", tuner.dataset.info.metric, "seconds", *(n.partition(".")[2] for n in names), "reason"]
    found: list[Block] = [Heading("Trials"), Table(columns, rows, "All trials")]
    cut = [t for t in tuner.study.get_trials(deepcopy=False) if t.state.name == "FAIL" and t not in trials]
    if cut:
        again = [[str(t.user_attrs["slot"] + 1), t.user_attrs.get("reason", GONE)] for t in cut]
        found.append(Table(["trial", "cut short"], again, "Attempts that were cut short and begun again"))
    return found
