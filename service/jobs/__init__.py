"""Loops that call SQL functions. Each is safe in any number of workers."""
