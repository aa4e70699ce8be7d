"""A user's own files as data sets, without code."""
