"""Sums of decision trees, whichever importer reads them: by composite signs, or exactly on digits.

`leaves.py` is what an importer makes of its trees, `tree_options.py` how the user wants them computed; `signs.py` and
`threshold_margin.py` make programs of them, `tree_circuits.py` circuits, with features on a public grid (`grid.py`) and
in parts that are quick to compare (`integer_digits.py`).
"""
