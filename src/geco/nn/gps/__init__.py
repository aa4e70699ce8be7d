"""Hybrids: a local GNN beside a global mixer, and both by name."""
