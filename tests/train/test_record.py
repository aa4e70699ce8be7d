"""What a run folder tells, sound or not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from geco.errors import UsageError
from geco.train.record import NotYet, read_seed
from tests.made_runs import VALUES, made_run


def test_tells_what_there_is(tmp_path: Path) -> None:
    record = read_seed(made_run(tmp_path / "a" / "seed-3", seed=3, epochs=5))
    assert (record.seed, record.best["epoch"], record.state) == (3, 4, "finished")
    assert record.best["valid"] == pytest.approx(0.83)
    assert record.memory == 2**28
    assert record.parameters == 1234
    assert record.seconds("train") == [0.5] * 5
    assert record.baseline == {"a guess": {"valid": 0.5, "test": 0.45}}


def test_a_run_that_goes_on(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "seed-0", epochs=5, finished=False)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 6, "lo')
    record = read_seed(folder)
    assert record.state == "epoch 5 of 5"
    assert record.parameters == 1234, "kept beside the weights"


def test_lower_is_better_where_it_is(tmp_path: Path) -> None:
    record = read_seed(made_run(tmp_path / "seed-0", info=VALUES))
    assert record.best["valid"] == min(line["valid"] for line in record.epochs)


def test_a_run_of_before_has_no_outcome(tmp_path: Path) -> None:
    folder = made_run(tmp_path / "seed-0")
    manifest = json.loads((folder / "best" / "manifest.json").read_text())
    del manifest["about"]["report"]
    (folder / "best" / "manifest.json").write_text(json.dumps(manifest))
    (folder / "timing.jsonl").unlink()
    (folder / "environment.json").unlink()
    record = read_seed(folder)
    assert (record.kept, record.environment, record.memory, record.seconds("train")) == ({}, {}, None, [])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("config.toml", "seed = [", "config.toml is not TOML"),
        ("config.toml", "[tool.black]\n", "config.toml is not that of a run of `geco train`: it has no table data"),
        ("metrics.jsonl", "no json\n", "metrics.jsonl is damaged: line 1"),
        ("metrics.jsonl", "[1]\n", "metrics.jsonl is damaged: line 1 holds no evaluation"),
        ("metrics.jsonl", '{"epoch": 1, "loss": 1, "valid": "x", "test": 1}\n', "line 1 has no number valid"),
        ("best/manifest.json", "{}", "best is damaged or not of this version of geco"),
        ("best/manifest.json", '{"about": {"info": {}}}', "best is damaged or not of this version of geco"),
        ("best/manifest.json", '{"about": [', "best is damaged"),
        ("result.json", '{"epoch": 1', "result.json is damaged"),
        ("result.json", "[]", "result.json is damaged: it holds no object"),
        ("environment.json", "\x00", "environment.json is damaged"),
    ],
)
def test_says_what_is_damaged(name: str, text: str, says: str, tmp_path: Path) -> None:
    folder = made_run(tmp_path / "seed-0")
    (folder / name).write_text(text)
    with pytest.raises(UsageError) as error:
        read_seed(folder)
    assert says in str(error.value)
    assert not isinstance(error.value, NotYet)


def no_text(folder: Path) -> None:
    (folder / "config.toml").write_bytes(b"\xff\xfe\x00")


def a_folder_for_a_file(folder: Path) -> None:
    (folder / "metrics.jsonl").unlink()
    (folder / "metrics.jsonl").mkdir()


@pytest.mark.parametrize("damage", [no_text, a_folder_for_a_file])
def test_what_cannot_be_read_is_an_error_of_one_line(damage: Callable[[Path], None], tmp_path: Path) -> None:
    damage(made_run(tmp_path / "seed-0"))
    with pytest.raises(UsageError, match="cannot be read") as error:
        read_seed(tmp_path / "seed-0")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("epochs", [0, 4])
def test_no_finished_epoch_is_no_damage(epochs: int, tmp_path: Path) -> None:
    folder = made_run(tmp_path / "seed-0", epochs=epochs, finished=False)
    if epochs:
        (folder / "best" / "manifest.json").unlink()
        (folder / "best").rmdir()
    with pytest.raises(NotYet, match="has no finished epoch yet"):
        read_seed(folder)
