"""Devices with memory of their own: their names, how they are used, and which there are."""
