"""Keys of one client, in memory and in files."""
