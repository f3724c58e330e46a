"""Price lists of others, as tables: exact to the last digit, or skipped with a reason."""
