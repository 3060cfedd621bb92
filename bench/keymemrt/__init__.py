"""One plan with all keys in memory, and under budgets for them: time, reads and memory (the question of KeyMemRT)."""
