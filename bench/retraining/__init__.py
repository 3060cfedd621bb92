"""Models that are trained again: what `like=` keeps of the keys and the client file of the first."""
