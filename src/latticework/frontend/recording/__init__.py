"""The tracer, and what it records of secrets: values, indices, structures, and what they refuse."""
