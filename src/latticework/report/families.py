"""Opcodes by what they spend their time on: the colours of a report."""

from __future__ import annotations

ENCODE = "encode"  # in the first run only
FAMILIES = ("switch", "divide", "product", "plain", "add", "other")
LABELS = {
    "switch": "key switching",
    "divide": "rescale, mod down",
    "product": "ciphertext product",
    "plain": "plaintext product",
    "add": "addition",
    "other": "other",
}
_MEMBERS = {
    "switch": ("hoist", "key_product", "rotate", "relinearize", "diag_sums", "map_sums", "to_sparse", "mod_raise"),
    "divide": ("mod_down",),
    "product": ("mul", "square", "dot", "mul_relinearize"),
    "plain": ("mul_plain", "mul_int", "mul_monomial", "extend"),
    "add": ("add", "sub", "neg", "sum", "add_plain", "sub_plain", "add_int"),
    ENCODE: ("encode",),
}
_FAMILY = {op: family for family, members in _MEMBERS.items() for op in members}


def family_of(op: str) -> str:
    """The family of an opcode."""
    return _FAMILY.get(op, "other")
