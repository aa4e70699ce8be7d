"""Settings found by trial: a study of many trainings that share one file, each judged by validation alone.

A study can be stopped, killed and joined by further processes at any time. Needs Optuna
(``pip install "geco-graph[tune]"``), which is imported when a study is opened.
"""
