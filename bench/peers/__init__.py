"""Other projects that cap spend, on the same machine under the same load."""
