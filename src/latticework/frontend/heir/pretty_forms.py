"""Pretty forms of operations: one line each, read by `parse.py`.

v     an operand                       V     any number of operands, with commas
[I]   indices in brackets, operands    [S]   numbers or operands in brackets: offsets, sizes, strides in turn
T     the result's type                t     another type;  F  a function's type, or `type -> type`
a     a value, as attribute "value"    p     a word, as attribute "predicate"
@     a symbol, as attribute "callee"  ()    an empty pair
A     attributes in braces or angles, if there are any, and flags such as `overflow<nsw>`
Everything else stands for itself.
"""

_BINARY = "v , v A : t"
_CAST = "v A : t to T"

FORMS = {
    "arith.constant": "A a",
    **{f"arith.{name}": _BINARY for name in (
        "addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "ceildivsi", "floordivsi", "minsi", "maxsi",
        "andi", "ori", "xori", "addf", "subf", "mulf", "divf", "minimumf", "maximumf",
    )},
    "arith.negf": "v A : t",
    "arith.cmpi": "p , v , v A : t",
    "arith.cmpf": "p , v , v A : t",
    "arith.select": "v , v , v A : t",
    **{f"arith.{name}": _CAST for name in (
        "extf", "truncf", "extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi", "index_cast", "index_castui",
    )},
    "memref.alloc": "() A : T",
    "memref.alloca": "() A : T",
    "memref.dealloc": "v A : t",
    "memref.load": "v [I] A : t",
    "memref.store": "v , v [I] A : t",
    "tensor.empty": "() A : T",
    "tensor.extract": "v [I] A : t",
    "tensor.insert": "v into v [I] A : t",
    "tensor.extract_slice": "v [S] [S] [S] A : t to T",
    "tensor.insert_slice": "v into v [S] [S] [S] A : t into t",
    "tensor.splat": "v A : T",
    "tensor.from_elements": "V A : T",
    "key_mgmt.prefetch_key": "v A",
    **{f"key_mgmt.{name}": "v A : F" for name in ("load_key", "use_key", "assume_loaded")},
    "key_mgmt.clear_key": "v A : t",
    "func.call": "@ ( V ) A : F",
    "func.return": "A V A",
    "scf.yield": "A V A",
}  # fmt: skip
SHORT = {"call": "func.call", "return": "func.return"}
OPENFHE = "V A : F"  # all of this dialect
