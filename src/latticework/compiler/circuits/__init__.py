"""lw.compile for circuits of scalars, up to the vectors from which everything goes on as for arrays."""
