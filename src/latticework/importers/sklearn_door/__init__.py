"""Fitted estimators of scikit-learn as programs: known by their classes and fitted attributes.

scikit-learn itself is never imported; what reads a class is in the table of its family.
"""

from latticework.importers.sklearn_door.door import from_sklearn
from latticework.importers.sklearn_door.method_program import SklearnProgram
from latticework.importers.sklearn_door.skops_files import load_skops

__all__ = ["SklearnProgram", "from_sklearn", "load_skops"]
