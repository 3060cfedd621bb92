"""What the paper on XeHE measures of a library for GPUs, and what it does not: needs NumPy and latticework alone."""
