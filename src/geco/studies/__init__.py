"""Studies: each is a command, ``python -m geco.studies.NAME``, that prints a table and can write JSON."""
