"""A program that is compiled like an old model: what it takes over of that, and what stays the same."""
