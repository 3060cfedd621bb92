"""Plan files and client files: how records become bytes, and what is checked when they are read."""
