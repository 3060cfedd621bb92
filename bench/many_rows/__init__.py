"""Many rows in one run: networks of squares, and of ReLU, on digits."""
