"""What is told about a secret key, counted in a file beside it."""
