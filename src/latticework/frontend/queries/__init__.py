"""Ready programs for queries of a server's data: look-ups of rows, and intersections of sets.

`slot_program.py` says what they have in common: products of encrypted vectors with public ones, slot by slot, added up.
The compiler writes and plans that; `plan/client_steps/` makes vectors of what is asked, and answers of vectors.
"""

from latticework.frontend.queries.row_lookups import private_lookup
from latticework.frontend.queries.set_intersections import set_intersection
from latticework.frontend.queries.slot_program import SlotProgram

__all__ = ["SlotProgram", "private_lookup", "set_intersection"]
