"""Packing: how values lie in slots, and what moves them; plain values that compiler, plans and runtime share."""
