"""Data sets that need no files: made from a seed, from scikit-learn's digits or from Python's own library."""
