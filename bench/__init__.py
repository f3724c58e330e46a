"""Benchmarks: one command each, each bounded in time, each printing Markdown."""
