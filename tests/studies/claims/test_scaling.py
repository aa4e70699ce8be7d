from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from geco.cli.main import main
from geco.errors import ResourceError
from geco.studies.claims import scaling
from geco.studies.claims.scaling_answer import PAPER, answer
from geco.studies.claims.study import Done


def timed(nodes: int, geco: float, attention: float | None) -> Done:
    found: dict[str, Any] = {
        key: {"forward": geco / 2, "step": geco, "peak": 2**20 * nodes} for key in ("geco", "paper")
    }
    if attention is not None:
        found["attention"] = {"forward": attention / 2, "step": attention, "peak": 2**20}
    return Done({"nodes": nodes}, found)


def test_quick_runs_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(scaling.SIZES, "quick", [512, 1024])
    for _ in range(2):
        main(["study", "scaling", "--quick", "--out", str(tmp_path)])
        told = capsys.readouterr()
        assert "A forward and backward pass" in told.out
    assert "units to do" not in told.err  # all was done
    units = json.loads((tmp_path / "record.json").read_text())["units"]
    for nodes in (512, 1024):
        found = units[f"nodes-{nodes}"]["result"]
        assert {*found} == {"geco", "paper", "attention"}
        assert all(0 < times["forward"] < times["step"] for times in found.values())
    page = (tmp_path / "page.html").read_text()
    assert page.count("<polyline") >= 13  # two charts of five lines, one of three
    assert "<script src" not in page


def test_attention_beyond_its_limit_is_extrapolated_and_marked() -> None:
    done = [timed(1024, 2.0, 1.0), timed(2048, 2.0, 4.0), timed(4096, 2.0, None), timed(65536, 2.0, None)]
    found = answer(done)
    step = found.tables[1].rows
    assert [row[4].value for row in step] == [0.5, 2.0, 8.0, 2048.0]
    assert [row[4].more for row in step] == ["", "", "extrapolated", "extrapolated"]
    assert "GECO overtakes attention between 1,024 and 2,048 nodes" in found.words
    assert "2,050 times at 65,536 (extrapolated)" in found.words
    assert "measured up to 2,048" in found.words


def test_a_size_at_which_attention_is_faster_again_counts() -> None:
    done = [timed(512, 1.0, 2.0), timed(1024, 1.0, 0.5), timed(2048, 1.0, 3.0)]
    assert "between 1,024 and 2,048" in answer(done).words
    assert "does not overtake" in answer(done[:2]).words


def test_the_paper_has_a_factor_of_169_at_2m() -> None:
    geco, flash = PAPER[2097152]
    assert round(flash / geco, 2) == 169.25
    assert len(PAPER) == 13


def test_what_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "available_memory", lambda swap: 2**20)
    with pytest.raises(ResourceError, match="need"):
        scaling.measured({"nodes": 512}, {})


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux only")
def test_memory_is_at_least_the_gradient_of_the_features() -> None:
    about = {"nodes": 20_000, "channels": 108, "apart": True}  # a process that did other things has memory to spare
    assert scaling._apart(about, {}, scaling.peak, "geco conv", about) > 4 * 108 * about["nodes"]
