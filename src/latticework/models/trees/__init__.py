"""Sums of decision trees, whichever door they come through: by composite signs, or exactly on digits.

`leaves.py` is what a door makes of its trees, `choice.py` how the user wants them computed; `signs.py` and `doubts.py`
make programs of them, `circuits.py` circuits, with features on a public grid (`grid.py`) and in parts that are quick to
compare (`parts.py`).
"""
