"""The code of a plan, out of managed IR: expanded, tidied, with its keys, as instructions."""
