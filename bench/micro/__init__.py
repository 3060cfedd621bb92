"""Single kernels by ring degree and backend, and the IR."""
