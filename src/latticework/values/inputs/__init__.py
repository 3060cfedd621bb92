"""What users hand in: arrays and numbers as they have them, and the line where they wrote it."""
