"""From managed IR to the code of a plan: expanded, tidied, with its keys, as instructions."""
