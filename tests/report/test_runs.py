"""The page of several runs."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from geco.report.folders import find
from geco.report.runs import charts, records, runs_page
from tests.made_runs import VALUES, made_run
from tests.pages.test_page import Reader


def test_twenty_long_runs_are_small_and_quick(tmp_path: Path) -> None:
    for run in range(20):
        for seed in (0, 1):
            made_run(tmp_path / f"run-{run}" / f"seed-{seed}", seed=seed, epochs=200, hidden=run + 1)
    begin = time.perf_counter()
    text = runs_page(find([tmp_path]), "geco report").html()
    assert time.perf_counter() - begin < 20
    assert len(text.encode()) < 3_000_000
    assert text.count("<polyline") == 20 * 7
    assert "run-19" in text
    Reader(text)


def test_data_sets_and_metrics_are_apart(tmp_path: Path) -> None:
    made_run(tmp_path / "a" / "seed-0")
    made_run(tmp_path / "b" / "seed-0", info=VALUES, level=2.0)
    text = runs_page(find([tmp_path]), "").html()
    assert re.findall("<h2>(.*?)</h2>", text) == ["pets, by accuracy", "houses, by MAE", "All settings"]
    assert text.count("<polyline") == 2 * 7
    assert text.count('class="chart confusion"') == 1
    assert text.count('class="chart scatter"') == 2


def test_confusion_adds_the_seeds_up(tmp_path: Path) -> None:
    for seed in (0, 1):
        made_run(tmp_path / "a" / f"seed-{seed}", seed=seed)
    text = runs_page(find([tmp_path]), "").html()
    matrix = text.split('class="matrix"')[1].split("</table>")[0]
    assert re.findall(r"<td class=\"\w+[^>]*>(\d+)</td>", matrix) == ["60", "4", "2", "35"]
    assert "all 2 seeds together" in text


def test_versions_that_one_run_lacks_are_named_with_how_many_have_none(tmp_path: Path) -> None:
    made_run(tmp_path / "a" / "seed-0")
    folder = made_run(tmp_path / "b" / "seed-0")
    kept = json.loads((folder / "environment.json").read_text())
    (folder / "environment.json").unlink()
    text = runs_page(find([tmp_path]), "").html()
    assert f"{kept['torch']} (unknown for 1 of 2)" in text
    assert "several" not in text


def test_what_an_old_run_did_not_keep_is_said(tmp_path: Path) -> None:
    made_run(tmp_path / "a" / "seed-0")
    folder = made_run(tmp_path / "old" / "seed-0")
    manifest = json.loads((folder / "best" / "manifest.json").read_text())
    del manifest["about"]["report"]
    (folder / "best" / "manifest.json").write_text(json.dumps(manifest))
    text = runs_page(find([tmp_path]), "").html()
    assert "Not kept is which class was taken for which by old" in text
    assert text.count('class="matrix"') == 1


def test_a_page_of_nothing_but_problems(tmp_path: Path) -> None:
    (tmp_path / "a <b>").mkdir()
    text = runs_page(find([tmp_path / "a <b>"]), "").html()
    assert "There is no run with a finished epoch to show." in text
    assert "a &lt;b&gt;" in text
    Reader(text)


def test_scores_that_are_not_finite_do_not_end_the_page(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "a" / "seed-0")
    line = '{"epoch": 5, "loss": NaN, "valid": NaN, "test": Infinity, "lr": 0}\n'
    (folder / "metrics.jsonl").write_text((folder / "metrics.jsonl").read_text() + line)
    only = made_run(tmp_path / "b" / "seed-0")
    (only / "metrics.jsonl").write_text(line)
    text = runs_page(find([tmp_path]), "").html()
    assert "NaN" not in text.split("<main>")[1].split("<script>")[0]
    Reader(text)


def test_names_are_as_short_as_they_may_be(tmp_path: Path) -> None:
    for name in ("x/a", "x/y/b"):
        made_run(tmp_path / name / "seed-0")
    text = runs_page(find([tmp_path]), "").html()
    assert set(re.findall(r'<tr data-series="([^"]+)"', text)) == {"a", "y/b"}


def test_the_record_for_machines(tmp_path: Path) -> None:
    made_run(tmp_path / "a" / "seed-0", epochs=3)
    ((path, (seed,)),) = records(find([tmp_path / "a"])).items()
    assert path == str(tmp_path / "a")
    assert set(seed) == {"metric", "best", "finished", "seconds", "environment", "config", "epochs"}
    assert seed["seconds"] == pytest.approx(1.8)
    assert (seed["epochs"][0]["train"], "memory" in seed["epochs"][0]) == (0.5, False)


def test_charts_of_a_figure(tmp_path: Path) -> None:
    made_run(tmp_path / "a" / "seed-0")
    found = find([tmp_path])
    assert [chart.title for chart in charts(found, ())] == ["Accuracy, validation", "Training loss"]
    assert [chart.title for chart in charts(found, ["lr"])] == ["Learning rate"]
