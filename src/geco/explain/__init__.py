"""Why a trained network predicts what it does for a node or a graph, in the units of its predictions.

`geco.explain.question.ask` poses the question, `geco.explain.explain.explain` answers it: what is left of the
prediction without each node and each edge (`geco.explain.occlusion`), and without each part of the network
(`geco.explain.parts`).
`geco.train.trained_run.Run.explain` does both for a run.
"""
