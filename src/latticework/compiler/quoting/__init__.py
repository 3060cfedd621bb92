"""Prices of programs before they are compiled."""

from latticework.compiler.quoting.quote_stages import SECONDS, quote_program

__all__ = ["SECONDS", "quote_program"]
