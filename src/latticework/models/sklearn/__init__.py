"""Fitted estimators of scikit-learn as programs: known by their classes and fitted attributes.

scikit-learn itself is never imported; what reads a class is in the table of its family.
"""

from latticework.models.sklearn.import_sklearn import from_sklearn
from latticework.models.sklearn.method_program import SklearnProgram
from latticework.models.sklearn.skops_files import load_skops

__all__ = ["SklearnProgram", "from_sklearn", "load_skops"]
