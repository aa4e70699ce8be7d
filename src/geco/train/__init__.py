"""Training: configuration, tasks, metrics, the loop, checkpoints and run folders."""
