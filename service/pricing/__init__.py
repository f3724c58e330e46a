"""Prices from outside: importers of price lists, and what a provider's usage object says.

Nothing here computes a cost: PostgreSQL does, from what is published.
"""
