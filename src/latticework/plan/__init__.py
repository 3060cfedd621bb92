"""Plans, the narrow waist between compiler and runtime: what is in them, their files, and what follows from them."""
