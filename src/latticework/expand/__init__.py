"""Linear transforms, polynomials and key switches as primitive operations: the one place where they become so."""

from latticework.expand.module import expand

__all__ = ["expand"]
