from __future__ import annotations

from typing import Any

import pytest

from geco.errors import UsageError
from geco.studies.claims.grid import Bench, Grid, agreement, grid_study
from geco.studies.claims.study import Answer, Done

VARIANTS: dict[str, dict[str, Any]] = {
    "gcn": {"model.name": "gcn"},
    "odd": {"model.mixer": "wavelets"},
    "mlp": {"model.name": "mlp"},
}


def done(data: str, variant: str, *tests: float, paper: float | None = None, metric: str = "accuracy") -> list[Done]:
    more = {"valid": 0.5, "metric": metric, "baseline": {}, "parameters": 10, "hidden": 4, "epoch_seconds": 0.5}
    facts = {"data": data, "variant": variant, "paper": paper}
    return [Done({**facts, "seed": seed}, {"test": test, **more}) for seed, test in enumerate(tests)]


def test_the_plan_has_every_variant_that_can_be_built_seed_after_seed() -> None:
    data = {
        "cora": Bench("cora", {"model.layers": 3}, without={"mlp": "it is slow"}),
        "digits": Bench(paper={"gcn": 0.9}),
    }
    plan = grid_study(Grid("as it is.", VARIANTS, {"default": data})).plan("default", [3, 4])
    keys = ["cora/gcn/seed-3", "digits/gcn/seed-3", "digits/mlp/seed-3"]
    assert [unit.key for unit in plan.units] == [*keys, *(key.replace("3", "4") for key in keys)]
    assert [(item.what, item.why) for item in plan.left_out] == [
        ("odd", "this version has no mixer wavelets"), ("mlp on cora", "it is slow"),
    ]  # fmt: skip
    config: Any = plan.units[0].work
    assert (config.config.model.layers, config.config.seed, config.config.data.name) == (3, 3, "cora")
    assert [unit.facts["paper"] for unit in plan.units[:3]] == [None, 0.9, None]


def test_wrong_settings_are_refused_before_anything_is_trained() -> None:
    grid = Grid("", {"gcn": {"model.layerz": 3}}, {"quick": {"cora": Bench()}})
    with pytest.raises(UsageError, match=r"did you mean model\.layers"):
        grid_study(grid).plan("quick", [0, 1])


def answered(*parts: list[Done], **options: Any) -> Answer:
    return grid_study(Grid("", VARIANTS, {}, **options)).answer([unit for part in parts for unit in part])


def test_the_answer_names_the_first_and_what_cannot_be_told_from_it() -> None:
    found = answered(done("a", "gcn", 0.5, 0.6), done("a", "mlp", 0.52, 0.56), done("a", "odd", 0.1, 0.1))
    assert "On a, gcn is first with 0.5500 ± 0.0707; mlp cannot be told from it" in found.words
    assert "Last is odd with 0.1000." in found.words
    assert [row[1].mark for row in found.tables[0].rows] == ["best", "", ""]
    ahead = answered(done("a", "gcn", 0.5, 0.5), done("a", "mlp", 0.4, 0.4))
    assert "ahead by more than the spreads" in ahead.words


def test_the_words_say_how_large_the_networks_are() -> None:
    small, large = done("a", "gcn", 0.5, 0.6), done("a", "mlp", 0.5, 0.6)
    assert answered(small, large).words.endswith("All networks have 10 weights.")
    assert answered(small).words.endswith("The network has 10 weights.")
    larger = [Done(unit.facts, {**unit.result, "parameters": 2345}) for unit in large]
    assert answered(small, larger).words.endswith("has 10 weights (gcn), the largest 2,345 (mlp).")


def test_lower_is_better_where_the_metric_says_so() -> None:
    found = answered(
        done("a", "gcn", 0.5, 0.5, metric="mae", paper=0.3), done("a", "mlp", 0.4, 0.4, metric="mae", paper=0.2)
    )
    assert "mlp is first with 0.4000" in found.words
    assert "Of 1 pairs that the paper orders, 1 stand the same way here" in found.words
    assert found.tables[0].rows[0][3].text == "0.3000"


def test_pairs_are_counted_both_ways() -> None:
    scores = {"a": [0.9, 0.9], "b": [0.8, 0.8], "c": [0.7, 0.9], "d": [0.1, 0.1]}
    counted = agreement(scores, {"a": 0.1, "b": 0.2, "c": 0.3, "e": 1.0})
    assert (
        counted
        == "Of 3 pairs that the paper orders, 0 stand the same way here, 1 the other way round, 2 too near to say."
    )


def test_what_diverged_is_said_and_not_averaged() -> None:
    failed = Done({"data": "a", "variant": "mlp", "seed": 1, "paper": None}, {"failed": "the loss is nan"})
    found = answered(done("a", "gcn", 0.5), [failed])
    assert "Diverged: mlp on a with seed 1." in found.words
    assert len(found.tables[0].rows) == 1
    assert answered([failed]).tables == []
    assert answered().tables == []
