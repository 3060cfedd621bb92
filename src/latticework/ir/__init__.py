"""The intermediate representation: a compact SSA form with regions."""

from latticework.ir.attributes import (
    attribute_class,
    attribute_key,
    is_attribute,
    print_attribute,
    register_attribute,
)
from latticework.ir.builder import Builder, locate
from latticework.ir.core import (
    Array,
    Attrs,
    Block,
    Context,
    JointContext,
    Op,
    OpSpec,
    Region,
    Value,
    attribute,
    define,
    kind_key,
    last_uses,
    spec,
    walk_block,
)
from latticework.ir.interpret import evaluate, interpret, interpret_together
from latticework.ir.location import Loc, Origin
from latticework.ir.module import Module, source_hash
from latticework.ir.parser import parse_module
from latticework.ir.passes import Pass, PassEvent, run_passes
from latticework.ir.printer import print_module
from latticework.ir.rewrite import prepend, rebuild, rebuild_block, replace_all_uses
from latticework.ir.types import INDEX, IndexType, Type, register_type, type_class
from latticework.ir.verify import verify

__all__ = [
    "INDEX",
    "Array",
    "Attrs",
    "Block",
    "Builder",
    "Context",
    "IndexType",
    "JointContext",
    "Loc",
    "Module",
    "Op",
    "OpSpec",
    "Origin",
    "Pass",
    "PassEvent",
    "Region",
    "Type",
    "Value",
    "attribute",
    "attribute_class",
    "attribute_key",
    "define",
    "evaluate",
    "interpret",
    "interpret_together",
    "is_attribute",
    "kind_key",
    "last_uses",
    "locate",
    "parse_module",
    "prepend",
    "print_attribute",
    "print_module",
    "rebuild",
    "rebuild_block",
    "register_attribute",
    "register_type",
    "replace_all_uses",
    "run_passes",
    "source_hash",
    "spec",
    "type_class",
    "verify",
    "walk_block",
]
