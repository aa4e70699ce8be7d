"""What the paper claims, each a study that ``geco study NAME`` runs: a plan of units, and what they say together.

A study is a module with a `STUDY` and a line in `geco.studies.claims.catalogue.STUDIES`.
"""
