"""Benchmarks: ratios against hand-written loops and bare drivers, all in one run."""
