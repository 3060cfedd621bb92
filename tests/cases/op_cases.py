"""Modules of one op."""

from latticework.ir import Block, Builder, Module, interpret, parse_module, print_module, verify
from latticework.ir.dialects import loop_dialect


def run(types, build, inputs, sources=()):
    """Outputs and output types of a module of one op, which verifies and survives its text."""
    block = Block()
    arguments = [block.add_arg(t) for t in types]
    module = Module(block, [f"x{k}" for k in range(len(types))], ["y"])
    hashes = [module.add_source(source) for source in sources]
    builder = Builder(block)
    value = build(builder, *arguments, *hashes)
    builder.create(loop_dialect.YIELD, [value])
    verify(module)
    text = print_module(module)
    assert print_module(parse_module(text, sources=module.sources)) == text
    return interpret(module, inputs)[0], value.type
