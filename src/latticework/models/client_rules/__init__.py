"""Which operators the owner of the data can compute, a table a door: cheap there, or impossible encrypted."""
