"""The compiler, from a program and data to a model: options, the pipeline of stages, and the search for scales."""
