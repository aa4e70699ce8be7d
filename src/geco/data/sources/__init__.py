"""Readers of the public raw layouts, one module each: ``read(folder, spec)`` returns the data set."""
