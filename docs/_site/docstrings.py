"""How docstrings are read for the reference: one ``Example`` is a section of examples, as several are."""

from __future__ import annotations

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Let the section ``Example:`` be read as ``Examples:``, the only spelling the parser has."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring in place."""
        if obj.docstring:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
