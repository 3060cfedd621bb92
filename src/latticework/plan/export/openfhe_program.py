"""A readable Python program for OpenFHE, from a program on slot vectors."""

from __future__ import annotations

import ast
from importlib.resources import files
from math import log2, prod
from pprint import pformat
from string import Template
from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.errors.escaping import plain_text
from latticework.plan.export.product_depth import count_depth
from latticework.plan.export.program_arrays import Array, Tables
from latticework.plan.export.python_lines import PythonLines
from latticework.plan.export.vector_program import VectorProgram
from latticework.plan.parameters.security import modulus_limit_bits
from latticework.plan.schema.conditions import condition_words
from latticework.plan.schema.schema import ClientSpec, IndexInput, SecretInput

SCALE_BITS, FINE_SCALE_BITS, FIRST_BITS = 50, 59, 60
ITERATION_BITS = 12  # that a first bootstrap is sure to leave, for a second one that refines it
NOISE_BITS = 8  # that steps of BFV may be noisier by in OpenFHE
PRIME_BITS = 60  # of OpenFHE's, with BFV
PRECISE = 28  # bits that were asked for at most, of results on the usual scale
LONG_VECTORS = 1 << 8  # from which a bootstrap's transforms are cut in three
Files = dict[str, str | dict[str, Array]]


def write_openfhe(program: VectorProgram) -> Files:
    """Return the files of a program: text, or arrays by name."""
    tables = Tables(program)
    evaluate = PythonLines(program, tables).write()
    facts = {**_facts(program), **_client_facts(program, tables)}
    helpers = _choose_helpers(
        "\n".join(evaluate), _template("bfv" if program.modulus else "ckks") + "\n\n" + _template("shared")
    )
    names = [name for name in ("itertools", "math", "sys") if f"{name}." in helpers]
    imports = [*(f"import {name}" for name in names), "from dataclasses import dataclass", "from pathlib import Path"]
    text = Template(_template("program")).substitute(
        facts, evaluate="\n".join(evaluate), helpers=helpers, imports="\n".join(imports)
    )
    readme = "\n\n".join(
        (
            f"{facts['title']}, for OpenFHE: `pip install openfhe numpy`, `python program.py INPUTS.npz RESULTS.npz`.",
            "The plan, run by latticework, keeps these bounds; OpenFHE's errors are its own.",
            *_bounds(program),
            *map(plain_text, program.plan.changes),
        )
    )
    return {"program.py": text, "README.md": readme + "\n", "constants.npz": tables.arrays}


def _bounds(program: VectorProgram) -> list[str]:
    """State what the plan says of each output."""
    return [
        f"- {plain_text(output.name)}: "
        + ("exact" if program.modulus and not output.conditions else f"error bound {output.error_bound:.3g}")
        + (f", which {condition_words(output.conditions)}" if output.conditions else "")
        for output in program.plan.client.outputs
    ]


def _template(name: str) -> str:
    return files("latticework.plan.export").joinpath("templates", f"{name}.txt").read_text("utf-8").strip("\n")


def _choose_helpers(body: str, helpers: str) -> str:
    """The helpers that a program calls, and those that these call; all that is no function."""
    lines, kept = helpers.split("\n"), []
    nodes = [(node, "\n".join(lines[_first(node) - 1 : node.end_lineno])) for node in ast.parse(helpers).body]
    functions = {node.name: text for node, text in nodes if isinstance(node, ast.FunctionDef)}
    wanted, pending = set[str](), [body, "make_context( make_keys( encrypt( decrypt( run( main("]
    while pending:
        text = pending.pop()
        called = {name for name in functions if f"{name}(" in text} - wanted
        wanted |= called
        pending += [functions[name] for name in called]
    for node, text in nodes:
        if not isinstance(node, ast.FunctionDef) or node.name in wanted:
            kept.append(text)
    return "\n\n\n".join(kept)


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _facts(program: VectorProgram) -> dict[str, Any]:
    """Parameters."""
    chain, client = program.plan.chain, program.plan.client
    bootstraps = [step for step in program.steps() if step.op == "bootstrap"]
    depth = count_depth(program)
    if program.modulus:
        require_slots(program)
        bits = _modulus_bits(program) + NOISE_BITS
        settings = [
            f"MODULUS = {program.modulus}  # t",
            f"MODULUS_BITS = {bits:.1f}  # of the plan's Q, and what OpenFHE's keys may be noisier by",
        ]
    else:
        scale_bits = FINE_SCALE_BITS if bootstraps or client.precision_bits > PRECISE else SCALE_BITS
        depth += _needs_room(client, program, scale_bits)
        again = max([0, *(step.immediate[0] - 1 for step in bootstraps)])
        depth = max(depth, 1) + again
        budget = _level_budget(program.slots)
        settings = [
            f"SCALE_BITS, FIRST_BITS = {scale_bits}, {FIRST_BITS}  # of the scale, and of the first prime",
            f"COMPLEX = {program.is_complex}  # whether imaginary parts of slots are used",
            f"CONJUGATIONS = {program.rotations(conjugated=True)}  # rotations of conjugates",
            f"BOOTSTRAPS = {bool(bootstraps)}",
        ]
        if bootstraps:
            settings += [f"LEVEL_BUDGET = {budget}  # of both transforms of a bootstrap"]
        else:
            settings += ["LEVEL_BUDGET = []"]
        if again:
            settings += [f"ITERATION_BITS = {ITERATION_BITS}  # that the first iteration of a bootstrap leaves"]
    return {
        "title": _word(client.name), "slots": program.slots, "ring": chain.ring_degree,
        "insecure": bool(chain.insecure), "depth": depth, "rotations": _list_numbers(program.rotations()),
        "settings": "\n".join(settings),
    }  # fmt: skip


def require_slots(program: VectorProgram) -> None:
    """UnsupportedError where t has slots in no ring that OpenFHE can choose for the plan's modulus at 128 bits."""
    chain = program.plan.chain
    ring, bits = chain.ring_degree, _modulus_bits(program) + NOISE_BITS
    if chain.insecure:
        return
    while (limit := modulus_limit_bits(ring, 128)) is not None and -(-bits // PRIME_BITS) * PRIME_BITS > limit:
        ring *= 2
    if (chain.plain_modulus - 1) % (2 * ring):
        raise UnsupportedError(
            f"export of {program.plan.client.name}: OpenFHE's primes of {PRIME_BITS} bits need a ring of degree {ring} "
            f"for 128 bits of security, in which t = {chain.plain_modulus} has no slots; compile with "
            f"ring_degree={ring}"
        )


def _modulus_bits(program: VectorProgram) -> float:
    chain = program.plan.chain
    return sum(log2(prime) for prime in chain.limb_primes(chain.main.basis(chain.main.top)))


def _word(name: str) -> str:
    """A name that was chosen by whoever wrote the plan, for a text in quotes."""
    return "".join(c if c.isalnum() or c in " -.,()" else "_" for c in plain_text(name))


def _level_budget(slots: int) -> list[int]:
    """Levels of a bootstrap's two transforms: more of them for long vectors, whose matrices would be large."""
    if slots >= LONG_VECTORS:
        return [3, 3]
    return [2, 2] if slots >= 1 << 4 else [1, 1]


def _needs_room(client: ClientSpec, program: VectorProgram, scale_bits: int) -> int:
    """1 where a result may be too large for the last prime alone, or nothing excludes it: it then keeps another one."""
    room = 2.0 ** (FIRST_BITS - scale_bits - 2)
    outputs = zip(client.outputs, program.factors, strict=True)
    return int(any(output.reach is None or output.reach / abs(factor) >= room for output, factor in outputs))


def _list_numbers(numbers: list[int]) -> str:
    return pformat(numbers, width=110, compact=True)


def _client_facts(program: VectorProgram, tables: Tables) -> dict[str, Any]:
    """The facts that stand between the user's arrays and slots."""
    client = program.plan.client
    given, integers, sizes = {}, {}, {}
    for each in client.inputs:
        if isinstance(each, IndexInput):
            integers[each.name] = each.limit
        else:
            sizes[each.name] = each.pack.size
            tables.places(each.name, each.pack)
    secret = client.secret_inputs
    if client.arguments:
        for a in client.arguments:
            if a.input < 0:
                given[a.name] = _describe_given(a.shape, -1.0, 1.0, "", "", 0)
                continue
            into = secret[a.input]
            low = into.low if a.low is None else a.low
            high = into.high if a.high is None else a.high
            if a.bits:
                low, high = 0.0, float((1 << a.bits) - 1)
            key = f"elements of {a.name}"
            tables.arrays[key] = np.array(a.elements, dtype=np.int64)
            given[a.name] = _describe_given(a.shape, low, high, into.name, key, a.bits)
    else:
        for each in secret:
            given[each.name] = _describe_given(each.pack.shape, each.low, each.high, each.name, "", 0)
    return {
        "inputs": ", ".join(
            [f"{_word(name)} {about['shape']}" for name, about in given.items()] + [*map(_word, integers)]
        ),
        "given": "".join(f"    {name!r}: {about!r},\n" for name, about in given.items()),
        "integers": repr(integers),
        "sizes": repr(sizes),
        "constraints": repr(_constraints(client, secret, tables)),
        "results": _results(client, tables),
        "factors": repr({o.name: factor for o, factor in zip(client.outputs, program.factors, strict=True)}),
        "parameters": ", **integers" if integers else "",
    }


def _describe_given(
    shape: tuple[int, ...], low: float, high: float, into: str, elements: str, bits: int
) -> dict[str, Any]:
    return {"shape": shape, "low": low, "high": high, "input": into, "elements": elements, "bits": bits}


def _constraints(
    client: ClientSpec, secret: tuple[SecretInput, ...], tables: Tables
) -> list[tuple[str, float, float, int]]:
    """Conditions on inputs: (input, low, high, items in it), with what is summed in tables."""
    inputs, found = {i.name: i for i in secret}, []
    for number, constraint in enumerate(client.constraints):
        spec = inputs[constraint.input]
        places = [place for element in constraint.elements for place in element.places]
        factors = [f for e in constraint.elements for f in (e.factors or (1.0,) * len(e.places))]
        starts = np.cumsum([0, *(len(e.places) for e in constraint.elements[:-1])])
        tables.arrays[f"constraint {number}, places"] = np.array(places, dtype=np.int64)
        tables.arrays[f"constraint {number}, factors"] = np.array(factors, dtype=np.float64)
        tables.arrays[f"constraint {number}, starts"] = starts
        rows = spec.pack.size // prod(constraint.item_shape(spec.shape))
        found.append((constraint.input, constraint.low, constraint.high, rows))
    return found


def _results(client: ClientSpec, tables: Tables) -> str:
    """Shape of each result, and the name of the table that tells its numbers among those of all outputs."""
    found, first = {}, 0
    for output in client.outputs:
        tables.first_places(output.name, output.pack)
        if not client.results:
            tables.arrays[f"numbers of {output.name}"] = np.arange(first, first + output.pack.size)
            found[output.name] = (output.pack.shape, f"numbers of {output.name}")
        first += output.pack.size
    for result in client.results:
        tables.arrays[f"numbers of {result.name}"] = np.array(result.elements, dtype=np.int64)
        found[result.name] = (result.shape, f"numbers of {result.name}")
    return repr(found)
