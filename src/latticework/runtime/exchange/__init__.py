"""What travels between client and server, and what both do with it."""
