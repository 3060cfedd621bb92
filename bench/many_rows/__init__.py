"""Many rows in one run: networks of squares on digits."""
