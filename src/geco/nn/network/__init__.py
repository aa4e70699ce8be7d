"""Whole networks for a task: encoders, body, head."""
