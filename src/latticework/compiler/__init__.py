"""From a program and data to a model: the order of all stages, and the search for a scale that is precise enough."""
