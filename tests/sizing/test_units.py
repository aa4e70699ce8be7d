from __future__ import annotations

import pytest

from geco.errors import UsageError
from geco.sizing import units


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("80GB", 80e9), ("80 GB", 80e9), ("16GiB", 2**34), ("512MiB", 2**29), ("1.5e3kB", 1.5e6), ("7B", 7)],
)
def test_memory(text: str, wanted: float) -> None:
    assert units.memory(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"), [("200Gb", 25e9), ("200Gb/s", 25e9), ("200Gbit/s", 25e9), ("200Gbps", 25e9), ("25GB/s", 25e9)]
)
def test_a_small_b_is_bits(text: str, wanted: float) -> None:
    assert units.bandwidth(text) == wanted


def test_speed() -> None:
    assert units.speed("312TFLOPS") == units.speed("312T") == units.speed("3.12e14") == pytest.approx(312e12)


@pytest.mark.parametrize(
    "text", ["", "80", "GB", "80gb", "80Gb", "80XB", "-1GB", "0GB", "nanGB", "1e999GB", "..GB", "80GB/s"]
)
def test_what_is_no_memory_is_refused_by_its_flag(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--memory"):
        units.memory(text)


@pytest.mark.parametrize("text", ["200", "200G", "200Zb", "-5Gb", "0Gb/s"])
def test_what_is_no_bandwidth_is_refused_by_its_flag(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--bandwidth"):
        units.bandwidth(text)


def test_amounts_are_read_back() -> None:
    for count in (1.0, 999.4, 1e3, 80e9, 1.15e12, 3e17):
        assert units.memory(units.bytes_in_words(count)) == pytest.approx(count, rel=6e-3)
