"""The sections of reports: each file has the records of one, how they are computed, and the blocks that tell them."""
