"""Fitted estimators of scikit-learn as programs: known by their classes and fitted attributes.

scikit-learn itself is never imported; what reads a class is in the table of its family.
"""

from latticework.importers.sklearn_door.door import SklearnProgram, from_sklearn

__all__ = ["SklearnProgram", "from_sklearn"]
