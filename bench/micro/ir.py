"""The IR on many ops: build, walk, verify, copy, print, parse, cse, dce. Seconds are the best of five runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from bench.rows import Row
from latticework.compiler.passes import cse, dce
from latticework.errors import IrError, ScaleError
from latticework.ir import Block, Builder, Loc, Module, parse_module, print_module, verify
from latticework.ir.dialects import loop_dialect, rlwe_dialect, vec_dialect

TARGET_SECONDS = {
    "build vec": 0.5,
    "build rlwe": 0.5,
    "walk": 0.01,
    "verify": 0.5,
    "copy": 0.5,
    "print": 0.5,
    "parse": 2.0,
    "cse": 1.0,
    "dce": 1.0,
}


def build_vec(num_ops: int) -> Module:
    """x -> rot(x) + x, again and again; half of the rotations repeat others."""
    block = Block()
    value = x = block.add_arg(vec_dialect.VecType(1, 64, "real", True))
    builder = Builder(block, Loc("commands/benchmarks.py", 1))
    for step in range(num_ops // 2 - 1):
        rotated = builder.build(vec_dialect.ROTATE, [x if step % 2 else value], steps=step % 61)
        value = builder.build(vec_dialect.ADD, [rotated, value])
    builder.create(loop_dialect.YIELD, [value])
    return Module(block, ["x"], ["y"])


def build_rlwe(num_ops: int) -> Module:
    """The same on ciphertexts, whose types are larger and checked more."""
    block = Block()
    value = x = block.add_arg(rlwe_dialect.CipherType("ckks", 1, 64, rlwe_dialect.Level(0, 5), 2.0**40))
    builder = Builder(block, Loc("commands/benchmarks.py", 1))
    for step in range(num_ops // 2 - 1):
        value = builder.build(rlwe_dialect.ADD, [builder.build(rlwe_dialect.ROTATE, [value], steps=step % 61), x])
    builder.create(loop_dialect.YIELD, [value])
    return Module(block, ["x"], ["y"])


def best_of(function: Callable[[], Any], repeats: int = 5) -> tuple[float, Any]:
    """Shortest time in seconds, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def verify_refuses(module: Module) -> bool:
    """Whether a fault in the middle of a module is found; the module is as before afterwards."""
    value = module.body.ops[len(module.body.ops) // 2].result
    kept, value.type = value.type, module.inputs[0].type.replace(scale=2.0**41)
    try:
        verify(module)
    except (IrError, ScaleError):
        return True
    finally:
        value.type = kept
    return False


def measure(num_ops: int) -> list[tuple[str, float, bool]]:
    """(case, seconds, checked) of every case."""
    seconds, module = best_of(lambda: build_vec(num_ops))
    rows = [("build vec", seconds, len(module.body.ops) == num_ops - 1)]
    seconds, ciphers = best_of(lambda: build_rlwe(num_ops))
    rows.append(("build rlwe", seconds, len(ciphers.body.ops) == num_ops - 1))
    seconds, count = best_of(lambda: sum(1 for _ in module.walk()))
    rows.append(("walk", seconds, count == num_ops - 1))
    rows.append(("verify", best_of(lambda: verify(module))[0], verify_refuses(ciphers)))
    seconds, text = best_of(lambda: print_module(module))
    copy_seconds, copy = best_of(module.clone)
    rows.append(("copy", copy_seconds, print_module(copy) == text))
    parse_seconds, parsed = best_of(lambda: parse_module(text))
    rows += [
        ("print", seconds, text.count("\n") == num_ops + 2),
        ("parse", parse_seconds, print_module(parsed) == text),
    ]
    seconds, shared = best_of(lambda: cse.run(module))
    steps = range(num_ops // 2 - 1)
    distinct = {(step if step % 2 == 0 and step else None, step % 61) for step in steps}  # (place of operand, steps)
    repeated = len(steps) - len(distinct)
    rows.append(("cse", seconds, len(shared.body.ops) == num_ops - 1 - repeated))
    seconds, live = best_of(lambda: dce.run(module))
    rows.append(("dce", seconds, print_module(live) == text))
    return rows


def ir_rows(num_ops: int) -> Iterator[Row]:
    """A row for every case."""
    for case, seconds, checked in measure(num_ops):
        yield Row(f"{case}, {num_ops} ops", "time", "s", seconds, target=TARGET_SECONDS[case], checked=checked)
