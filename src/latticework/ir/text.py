"""The text form of modules: print and parse, each the other's exact inverse."""

from latticework.ir.attributes import print_attribute
from latticework.ir.parser import parse_module
from latticework.ir.printer import print_module

__all__ = ["parse_module", "print_attribute", "print_module"]
