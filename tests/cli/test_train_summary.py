"""What `geco train` says before and after, over how many seeds, and what it starts from: as a user reads it."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from geco.cli.main import main
from geco.data.dataset import GraphDataset
from geco.store import read_entry

Run = Callable[..., str]
QUICK = ("--train.epochs", "3", "--model.hidden", "8", "--train.threads", "1")


def result(folder: Path, seed: int = 0) -> dict[str, float]:
    found: dict[str, float] = json.loads((folder / f"seed-{seed}" / "result.json").read_text())
    return found


def skewed(folder: Path, targets: bool = True) -> Path:
    """Write rings of an income with a long tail, its logarithm in two units as targets."""
    draw = torch.randn(60, generator=torch.Generator().manual_seed(1)).mul(2).add(8).tolist()
    rows = ["id,income,cents,bits" if targets else "id,income"]
    rows += [f"n{i},{2.718**v:.3f}" + (f",{100 * v:.3f},{v / 0.7:.3f}" if targets else "") for i, v in enumerate(draw)]
    folder.mkdir()
    (folder / "nodes.csv").write_text("\n".join(rows) + "\n")
    edges = [f"n{i},n{(i + 1) % 60},{1 + i % 3}" for i in range(60)]
    (folder / "edges.csv").write_text("\n".join(["source,target,weight", *edges]) + "\n")
    return folder


def test_own_values_in_their_units_from_training_to_prediction(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("data", "import", str(skewed(tmp_path / "in")), "--name", "pay", "--label", "cents", "bits", "--task", "values")
    long = (*QUICK[2:], "--train.epochs", "60", "--model.dropout", "0", "--optim.weight-decay", "0")
    main(["train", "pay", "--model.name", "gin", *long, "--out", str(tmp_path / "r")])
    said = capsys.readouterr()
    assert "warning: gin does not use the edge weights of pay" in said.err
    assert "pay: 60 nodes, 120 edges, 1 features, edge weights; 2 values of nodes by mae; 48 train" in said.out
    assert re.search(r"gin, 2 layers of 8: [\d,]+ parameters on cpu, threads: 1\n", said.out)
    assert re.search(r"about .* an epoch, .* for 60 epochs\n", said.out)
    assert re.search(r"mean of each target +\d+\.\d{4} +\d+\.\d{4}\n", said.out)
    assert re.search(r"target +test mae +test rmse +test r2\n", said.out)
    kept = result(tmp_path / "r")
    assert kept["test"] < kept["baseline"]["mean of each target"]["test"] / 2  # type: ignore[index]
    assert kept["unused"] == ["edge_weight"]
    run("predict", str(tmp_path / "r"), "--data", str(skewed(tmp_path / "new", False)), "-o", str(tmp_path / "out.csv"))
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()]
    assert rows[0] == ["id", "cents", "bits"]
    assert statistics.mean(float(row[1]) for row in rows[1:]) > 500
    assert statistics.mean(float(row[2]) for row in rows[1:]) < 20


def test_settings_that_differ_and_all_in_the_folder(run: Run, drawn: GraphDataset, tmp_path: Path) -> None:
    out = run("train", "digits", *QUICK, "--out", str(tmp_path / "r"))
    assert "hidden = 8\n\n[train]\nepochs = 3\nthreads = 1\n" in out
    assert "batch_size" not in out
    assert "batch_size" in (tmp_path / "r" / "seed-0" / "config.toml").read_text()


def test_scores_of_all_seeds(run: Run, drawn: GraphDataset, tmp_path: Path) -> None:
    trained = run("train", "digits", *QUICK, "--seeds", "2", "10", "--mlp", "--out", str(tmp_path / "r"))
    tests = [result(tmp_path / "r", seed)["test"] for seed in (2, 10)]
    mean = f"{statistics.mean(tests):.4f} ± {statistics.stdev(tests):.4f}"
    evaluated = run("eval", str(tmp_path / "r"))
    for said in (trained, evaluated):
        assert re.search(rf"mean .*{re.escape(mean)}", said)
        assert all(re.search(rf"\n{seed} .* {test:.4f}", said) for seed, test in zip((2, 10), tests, strict=True))
        assert "majority class" in said
    assert re.search(r"mlp +[01]\.\d{4}", trained)
    assert re.search(r"target +test f1", evaluated)
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == ["seed-10", "seed-2"], "the MLP is not kept"


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_more_epochs_of_a_finished_run(
    schedule: str, drawn: GraphDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "digits", *QUICK, "--optim.schedule", schedule, "--optim.warmup", "0"]
    main([*words, "--out", str(tmp_path / "r")])
    main([*words, "--out", str(tmp_path / "r"), "--resume", "auto", "--train.epochs", "6"])
    said = capsys.readouterr().err
    assert "goes on with train.epochs 6, not 3" in said
    assert ("the learning rate goes on where that of 6 epochs stands by now" in said) == (schedule == "cosine")
    assert result(tmp_path / "r")["epochs"] == 6
    main([*words, "--train.epochs", "6", "--out", str(tmp_path / "w")])
    logs = [(tmp_path / name / "seed-0" / "metrics.jsonl").read_text() for name in ("r", "w")]
    assert (logs[0] == logs[1]) == (schedule == "constant"), "as one that was begun with six"


def test_start_from_another_run(drawn: GraphDataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "digits", *QUICK, "--train.statistics", "0"]
    main([*words, "--out", str(tmp_path / "a")])
    capsys.readouterr()
    tiny = ["--optim.lr", "1e-9", "--init-from", str(tmp_path / "a")]
    main([*words, *tiny, "--seeds", "0", "1", "--out", str(tmp_path / "b")])
    assert "weights are those of " in capsys.readouterr().err
    first, second = (read_entry(tmp_path / name / "seed-0" / "best").arrays for name in "ab")
    weights = [name for name in first if name.endswith("weight")]
    assert all(torch.allclose(first[name], second[name], atol=1e-5) for name in weights)
    assert f'init_from = "{tmp_path / "a"}"' in (tmp_path / "b" / "seed-0" / "config.toml").read_text()
    main([*words, *tiny, "--model.head-layers", "2", "--out", str(tmp_path / "c")])
    assert "; freshly initialised: head.mlp.lins." in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main([*words, *tiny, "--model.name", "mlp", "--model.hidden", "5", "--out", str(tmp_path / "d")])
    assert end.value.code == 4
    assert "none of its weights fits this network by name and shape; give the settings of" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


@pytest.mark.slow
def test_seeds_side_by_side_are_those_one_after_the_other(run: Run, tmp_path: Path) -> None:
    words = (
        "train",
        "digits",
        "--train.epochs",
        "2",
        "--model.hidden",
        "4",
        "--train.threads",
        "1",
        "--seeds",
        "0",
        "1",
    )
    said = [run(*words, "--jobs", str(jobs), "--out", str(tmp_path / str(jobs))) for jobs in (1, 2)]
    for seed in ("seed-0", "seed-1"):
        for name in ("metrics.jsonl", "result.json"):
            assert (tmp_path / "1" / seed / name).read_bytes() == (tmp_path / "2" / seed / name).read_bytes()
    assert said[0].split("\nseed ")[1].splitlines()[:-1] == said[1].split("\nseed ")[1].splitlines()[:-1]
