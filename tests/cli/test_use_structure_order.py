"""``--model.permutation structure`` from training to prediction, as a user types it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from geco.data.encodings.structure_order import StructureOrder

Run = Callable[..., str]
ONE = ("--train.epochs", "1", "--model.hidden", "8", "--train.threads", "1", "--model.permutation", "structure")


@pytest.mark.parametrize("model", ["geco", "hybrid"])
def test_train_evaluate_explain(run: Run, tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tmp_path / "r")
    out = run("train", "ring-copy", *ONE, "--model.name", model, "--out", folder)
    assert 'permutation = "structure"' in out
    monkeypatch.setattr(StructureOrder, "compute", None)  # from the cache now
    assert "test" in run("eval", folder)
    if model == "geco":
        shown = run("explain", folder, "--node", "5", "--graph", "3", "--top", "3", "--by", "attention")
        assert "on node 5" in shown
    assert "without node" in run("explain", folder, "--node", "5", "--graph", "3", "--top", "3")


def test_predictions_do_not_depend_on_how_a_molecule_is_written(run: Run, tmp_path: Path) -> None:
    alcohols, alkanes = [f"{'C' * n}O" for n in range(1, 13)], ["C" * n for n in range(2, 14)]
    (tmp_path / "m.csv").write_text(
        "\n".join(["smiles,soluble", *(f"{s},1" for s in alcohols), *(f"{s},0" for s in alkanes)])
    )
    run(
        "data", "import", str(tmp_path / "m.csv"), "--name", "m", "--task", "labels", "--fractions", "0.6", "0.2", "0.2"
    )
    run("train", "m", *ONE, "--train.epochs", "10", "--model.dropout", "0", "--out", str(tmp_path / "r"))
    (tmp_path / "new.csv").write_text("smiles\nCC(C)CCCO\nOCCCC(C)C\nC(CCO)C(C)C\n")
    run("predict", str(tmp_path / "r"), "--data", str(tmp_path / "new.csv"), "-o", str(tmp_path / "out.csv"))
    with (tmp_path / "out.csv").open() as file:
        found = [float(row["p(soluble)"]) for row in csv.DictReader(file)]
    assert found[1:] == pytest.approx([found[0]] * 2, abs=1e-5)
