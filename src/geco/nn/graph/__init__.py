"""Graphs as layers see them: checked, normalised, their nodes in an order."""
