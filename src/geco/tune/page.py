"""A study as one page: what each trial validated at, which settings mattered, and the score against each of them."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Sequence
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
    page.add(Heading("History"), _history(tuner, trials), Heading("What mattered"), *_importance(tuner))
    page.add(Heading("Score against each setting"), Facets(_slices(tuner, trials)))
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


def _history(tuner: Tuner, trials: Sequence[FrozenTrial]) -> LineChart:
    """Return scores by trial, and the best of those so far."""
    ended = [trial for trial in trials if trial.value is not None]
    x = [trial.user_attrs["slot"] + 1 for trial in ended]
    y = [float(trial.value) if trial.value is not None else math.nan for trial in ended]
    whole = [trial.state.name == "COMPLETE" for trial in ended]
    better = max if tuner.higher else min
    best, found = [], math.nan
    for value, complete in zip(y, whole, strict=True):
        found = found if not complete else value if math.isnan(found) else better(found, value)
        best.append(found)
    parts = (("complete", True, 1), ("left early", False, 2))
    series = [Series("best so far", x, best, look=0)]
    for name, wanted, look in parts:
        marks = [Mark(a, b) for a, b, complete in zip(x, y, whole, strict=True) if complete == wanted]
        gaps = [math.nan] * len(x)  # marks without a line
        series += [Series(name, x, gaps, marks=marks, look=look)] if marks else []
    metric = tuner.dataset.info.metric
    note = "Marks are trials; the line is the best of the complete ones so far. A trial that was left early has its "
    return LineChart("Validation by trial", "trial", metric, series, note=f"{note}best score until then.")


def _importance(tuner: Tuner) -> list[Block]:
    found = importances(tuner)
    if not found:
        return [Text("There are too few complete trials to tell.")]
    note = "PED-ANOVA over the complete trials: how far the settings of the better half differ from those of all. With "
    note += "tens of trials this is a hint, not a finding."
    return [BarChart("Importance of settings", "share", list(found.items()), note=note)]


def _slices(tuner: Tuner, trials: Sequence[FrozenTrial]) -> list[Block]:
    """Return a chart for each setting that was varied."""
    return [_slice(tuner, name, setting, trials) for name, setting in tuner.plan.space.items()]


def _slice(tuner: Tuner, name: str, setting: Setting, trials: Sequence[FrozenTrial]) -> Block:
    metric, groups, labels = tuner.dataset.info.metric, [], [_words(v) for v in getattr(setting, "values", ())]
    for look, state in enumerate(("COMPLETE", "PRUNED"), 1):
        chosen = [t for t in trials if t.state.name == state and t.value is not None and name in t.params]
        x = [_place(tuner.values(trial)[name], setting) for trial in chosen]
        said = [f"trial {trial.user_attrs['slot'] + 1}: {_words(tuner.values(trial)[name])}" for trial in chosen]
        scores = [float(t.value) for t in chosen if t.value is not None]
        groups += [Points(NAMES[state], x, scores, said, look)] if chosen else []
    numbered = isinstance(setting, Choice) and not _numbers(setting)
    note = ", ".join(f"{number}: {label}" for number, label in enumerate(labels)) if numbered else ""
    log = _factors(setting) if isinstance(setting, Choice) else setting.log
    return Scatter(name, f"{name}, by number" if numbered else name, metric, groups, log_x=log, note=note)


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
