"""Rows of runs: scores over seeds, the best of them, and what differs."""

from __future__ import annotations

import statistics
from pathlib import Path

from geco.pages import Cell, Table
from geco.report.tables import differences, mean_cell, scores_table, unequal_seeds
from geco.train.record import SeedRecord, read_seed
from tests.made_runs import VALUES, made_run

Runs = dict[str, list[SeedRecord]]


def runs(folder: Path, **levels: float) -> Runs:
    return {
        name: [read_seed(made_run(folder / name / f"seed-{n}", seed=n, level=level, model=name)) for n in (0, 1)]
        for name, level in levels.items()
    }


def column(table: Table, name: str) -> dict[str, Cell]:
    at = list(table.columns).index(name)
    cells = {str(getattr(row[0], "text", row[0])): row[at] for row in table.rows}
    return {key: cell for key, cell in cells.items() if isinstance(cell, Cell)}


def test_scores_are_means_over_seeds_and_the_best_is_marked(tmp_path: Path) -> None:
    found = runs(tmp_path, gcn=0.8, gat=0.804, mlp=0.6)
    table = scores_table(found, {"gcn": 0, "gat": 1, "mlp": 2})
    valid = column(table, "validation accuracy")
    scores = [seed.best["valid"] for seed in found["gat"]]
    assert valid["gat"].value == statistics.mean(scores)
    assert valid["gat"].more == f"± {statistics.stdev(scores):.4f}"
    assert {name: valid[name].mark for name in found} == {"gcn": "near", "gat": "best", "mlp": ""}
    assert valid["a guess"].text == "0.5000"
    assert column(table, "memory")["gcn"].text == "256 MiB"
    assert column(table, "weights")["gcn"].text == "1,234"
    assert "state" not in table.columns


def test_the_lowest_error_is_the_best(tmp_path: Path) -> None:
    found = {
        name: [read_seed(made_run(tmp_path / name / "seed-0", info=VALUES, level=v))]
        for name, v in (("a", 2), ("b", 1))
    }
    table = scores_table(found, {"a": 0, "b": 1})
    assert {name: cell.mark for name, cell in column(table, "test MAE").items() if cell.mark} == {"b": "best"}


def test_a_score_that_is_no_number_is_neither_best_nor_near(tmp_path: Path) -> None:
    found = runs(tmp_path, gcn=0.8, gat=0.7, mlp=0.6)
    for seed in found["mlp"]:
        for line in seed.epochs:
            line["valid"] = float("nan")
    marks = {name: cell.mark for name, cell in column(scores_table(found, {"gcn": 0, "gat": 1, "mlp": 2}),
                                                      "validation accuracy").items()}  # fmt: skip
    assert (marks["gcn"], marks["mlp"]) == ("best", "")


def test_runs_that_go_on_say_how_far_they_are(tmp_path: Path) -> None:
    made = [read_seed(made_run(tmp_path / "a" / f"seed-{n}", seed=n, finished=n == 0)) for n in (0, 1)]
    assert column(scores_table({"a": made}, {"a": 0}), "state")["a"].text == "1 of 2 unfinished: epoch 4 of 4"


def test_only_what_differs(tmp_path: Path) -> None:
    made = {
        name: [read_seed(made_run(tmp_path / name / "seed-0", seed=seed, hidden=width))]
        for name, seed, width in (("a", 0, 16), ("b", 1, 32))
    }
    table = differences(made, {"a": 0, "b": 1})
    assert table is not None
    assert list(table.columns) == ["run", "model.hidden"], "the seed is no setting that is compared"
    assert [cell.value for cell in column(table, "model.hidden").values()] == [16, 32]
    assert differences({"a": made["a"], "c": made["a"]}, {"a": 0, "c": 1}) is None


def test_versions_count_and_what_an_old_run_does_not_say_does_not(tmp_path: Path) -> None:
    made = {name: [read_seed(made_run(tmp_path / name / "seed-0"))] for name in ("a", "b")}
    del made["b"][0].config["model"]["dropout"]
    made["b"][0].environment["torch"] = "2.6.0"
    table = differences(made, {"a": 0, "b": 1})
    assert table is not None
    assert list(table.columns) == ["run", "torch"]


def test_seeds_that_are_unlike(tmp_path: Path) -> None:
    made = [read_seed(made_run(tmp_path / f"seed-{n}", seed=n, hidden=n + 1)) for n in (0, 1)]
    assert unequal_seeds(made) == ["model.hidden"]


def test_means_keep_digits_at_every_size() -> None:
    assert [mean_cell([v]).text for v in (0.98765, 0.000123412, 12.3412, 1234.5678)] == [
        "0.9877", "0.0001234", "12.34", "1234.6",
    ]  # fmt: skip
    assert mean_cell([float("nan"), 1.0]).text == "nan"
    assert mean_cell([]).value is None
