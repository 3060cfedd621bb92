"""The accuracy of a compiled program: on the same data itself, with polynomials, with modelled noise, encrypted."""

from latticework.compiler.assessment.assess import Assessment

__all__ = ["Assessment"]
