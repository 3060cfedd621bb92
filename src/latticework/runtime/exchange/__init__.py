"""Encrypted values that travel between client and server, and what both do with them."""
