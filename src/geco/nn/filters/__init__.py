"""Filters of the global context block, by name."""

from typing import Literal

from geco.nn.filters.base import Filter, MeanFilter
from geco.nn.filters.paper import PaperFilter
from geco.nn.filters.waves import ImplicitFilter
from geco.nn.filters.windows import WindowedFilter

__all__ = ["FILTERS", "Filter", "FilterName", "ImplicitFilter", "MeanFilter", "PaperFilter", "WindowedFilter"]

FilterName = Literal["windows", "waves", "mean", "none", "paper"]
FILTERS: dict[str, type[Filter]] = {
    "windows": WindowedFilter,
    "waves": ImplicitFilter,
    "mean": MeanFilter,
    "paper": PaperFilter,
}
