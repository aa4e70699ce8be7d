"""Configurations by the name of their data set."""
