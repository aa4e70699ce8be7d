"""Training over several processes, on `torch.distributed`."""
