"""The machine at hand: what operations take on it, and prices that are shown for it."""
