"""Pages that people read, print and pass on: one HTML file each, nothing fetched.

Blocks are put on a `Page`: tables that sort, charts that are read with the pointer, the keyboard or a screen reader.
`geco.pages.figures.figure` draws the same charts with Matplotlib, for papers.

Example:
    >>> chart = LineChart("Accuracy by epoch", "epoch", "accuracy", [Series("gcn", [1, 2, 3], [0.5, 0.7, 0.8])])
    >>> page = Page("Two runs", command="geco report a b").add(Heading("Curves"), chart)
    >>> "<script src" in page.html()
    False
"""

from geco.pages.bars import BarChart
from geco.pages.blocks import Block, Facets, Facts, Folded, Group, Heading, Preformatted, Tabs, Text
from geco.pages.lines import LineChart, Mark, Rule, Series
from geco.pages.matrix import ConfusionMatrix
from geco.pages.page import Page
from geco.pages.scatter import Points, Scatter
from geco.pages.table import Cell, Table

__all__ = [
    "BarChart", "Block", "Cell", "ConfusionMatrix", "Facets", "Facts", "Folded", "Group", "Heading", "LineChart",
    "Mark", "Page", "Points", "Preformatted", "Rule", "Scatter", "Series", "Table", "Tabs", "Text",
]  # fmt: skip
