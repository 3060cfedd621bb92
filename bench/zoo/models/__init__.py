"""The models, a file for each kind."""
