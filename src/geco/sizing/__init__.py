"""What a training on one large graph takes of memory, network and time, on paper: pure functions of a few numbers.

`geco.sizing.job` says what is asked, `memory`, `traffic` and `work` have the formulas, `plan` puts them together.
Nothing here imports torch; `tests/sizing` compares the formulas with what real runs take.
"""
