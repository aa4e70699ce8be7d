from __future__ import annotations

from pathlib import Path

from geco.data.embedded.synthetic import erdos_renyi
from geco.studies.claims.permutation import GRID, ORDERS, other_orders, spreads
from geco.studies.claims.study import Done
from geco.train.config import Config, from_table
from geco.train.engine import Trainer
from tests.studies.claims.grids import check_plans, run_quick


def test_quick_runs(tmp_path: Path) -> None:
    record = run_quick("permutation", tmp_path)
    assert {unit["facts"]["seed"] for unit in record["units"].values()} == {0, 1}


def test_everything_planned_can_be_built() -> None:
    check_plans(GRID)


def spread(data: str, variant: str, tests: list[float], orders: list[list[float]]) -> list[Done]:
    more = {"valid": 0.5, "metric": "accuracy", "baseline": {}, "parameters": 1, "hidden": 4, "epoch_seconds": 0.5}
    facts = {"data": data, "variant": variant, "paper": None}
    pairs = zip(tests, orders, strict=True)
    return [
        Done({**facts, "seed": i}, {"test": test, "orders": other, **more}) for i, (test, other) in enumerate(pairs)
    ]


def test_seeds_and_orders_are_told_apart_and_a_leak_is_named() -> None:
    natural = spread("sorted", "GECO natural", [0.9, 0.92], [[0.4, 0.6], [0.5, 0.5]])
    found = spreads([*natural, *spread("sorted", "GECO static", [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]])])
    row = found.tables[0].rows[0]
    assert [cell.text for cell in row[1:]] == ["0.9100", "0.0141", "0.5000", "0.0707", "-0.4100"]
    assert "On sorted the order of the file helps to guess the class: GECO has 0.9100 in" in found.words


def test_alike_scores_are_no_leak() -> None:
    natural = spread("any", "GECO natural", [0.5, 0.52], [[0.5, 0.5]] * 2)
    assert (
        "within the spreads" in spreads([*natural, *spread("any", "GECO static", [0.5, 0.5], [[0.5, 0.5]] * 2)]).words
    )


def test_other_orders_leave_a_filter_without_order_alone(tmp_path: Path) -> None:
    dataset = erdos_renyi(60, degree=3)
    for filter, moved in (("mean", False), ("windows", True)):
        model = {"filter": filter, "permutation": "natural", "hidden": 8, "layers": 1, "filter_start": "silent"}
        config = from_table({"model": model, "train": {"epochs": 3}, "optim": {"lr": 0.1}}, Config(), "test")
        trainer = Trainer(config, dataset, tmp_path / filter)
        result = trainer.fit()
        before = trainer.evaluated.body.permutation
        scores = other_orders(trainer)["orders"]
        assert len(scores) == ORDERS
        assert trainer.evaluated.body.permutation == before
        assert (len({round(score, 6) for score in [*scores, result["test"]]}) > 1) == moved
