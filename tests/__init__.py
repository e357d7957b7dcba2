"""Telafi's tests; the subject of each folder is its name."""
