"""Plan instructions: one record each, by family, and the one walk over code that all analyses of plans share."""
