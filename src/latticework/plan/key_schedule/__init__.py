"""The keys that a run uses, and which are in memory when: predicted from the plan alone."""
