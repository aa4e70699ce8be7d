from __future__ import annotations

import pytest

from geco.studies import sampling


def test_every_way_is_trained_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    sampling.main(["--data", "digits", "--epochs", "2", "--sampled-epochs", "1", "--batch-size", "300"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[3:]]
    assert [row[0] for row in rows] == ["none", "clusters", "hops", "walks"]
    assert [row[4:6] for row in rows] == [["2", "1"], ["1", "4"], ["1", "4"], ["1", "4"]]  # epochs and steps
    assert rows[0][6] == "1,797"
