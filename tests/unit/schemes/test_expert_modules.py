"""`latticework.ckks` and `latticework.bfv` take and give the same for the same calls, and the docs name every one."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from expert_calls import calls, members, public_classes, public_errors, public_functions, worlds

from latticework import bfv, ckks
from latticework.schemes.rlwe.other_names import OTHER_NAMES

DOCS = Path(__file__).parents[3] / "docs"

# What follows from the schemes. CKKS has scales, slots that are complex numbers and vectors of any length, and
# operations planned for them; BFV has a plaintext modulus, two rows of integers, and results that are exact.
ONLY_CKKS = {
    "LinearTransform", "Polynomial", "Bootstrapper", "Estimator", "Estimate", "Bound",
    "Ciphertext.scale", "Ciphertext.rescale", "Ciphertext.level_to", "Ciphertext.conjugate",
    "Evaluator.rescale", "Evaluator.mod_down", "Evaluator.level_to", "Evaluator.plain_scale", "Evaluator.conjugate",
    "Evaluator.mul_i", "Evaluator.with_slots", "Evaluator.linear_transform", "Evaluator.polynomial",
    "Evaluator.bootstrap", "Evaluator.run", "Parameters.scales", "Parameters.dropped",
    "Plaintext.level", "Plaintext.scale",  # those of BFV are for all levels
}  # fmt: skip
ONLY_BFV = {
    "NoiseModel", "Noise", "Ciphertext.swap_rows", "Evaluator.swap_rows", "Decryptor.noise_budget",
    "Parameters.plain_modulus", "Parameters.row_slots", "Parameters.num_transforms", "Parameters.batching",
}  # fmt: skip
# Arguments that one of them takes more, by call; a name alone is so in every call.
MORE_ARGUMENTS = {
    "ckks": {"scale", "rescale", "scale_bits", "precision_bits", "max_value", "conjugate", "constant_bytes"}
    | {"KeyGenerator.evaluation_keys slots", "KeyGenerator.galois_keys slots", "Encoder.encode level"}
    | {"Ciphertext.from_residues slots", "Plaintext.from_residues slots", "Plaintext.from_residues level"},
    "bfv": {
        "plain_bits",
        "plain_modulus",
        "swap_rows",
        "Plaintext.() encoder",
        "Plaintext.() encoding",
        "allow_refusals",
        "batching",
    },
}
OTHER_DEFAULTS = {"dtype"}  # complex numbers, integers


def arguments(module, call, signature):
    """(name, kind, default) of the arguments that both modules should have."""
    more = MORE_ARGUMENTS[module]
    for p in signature.parameters.values():
        if p.name not in more and f"{call} {p.name}" not in more:
            yield p.name, p.kind, inspect.Parameter.empty if p.name in OTHER_DEFAULTS else p.default


def test_both_modules_have_the_same_names():
    names, others = public_classes(ckks), public_classes(bfv)
    assert set(names) - set(others) == {n for n in ONLY_CKKS if "." not in n}
    assert set(others) - set(names) == {n for n in ONLY_BFV if "." not in n}
    assert set(public_functions(ckks)) - set(public_functions(bfv)) == {"chebyshev"}
    assert not set(public_functions(bfv)) - set(public_functions(ckks))
    assert public_errors(ckks) ^ public_errors(bfv) == {"ScaleError", "PrecisionError", "DecryptionError"}


@pytest.mark.parametrize("name", sorted(set(public_classes(ckks)) & set(public_classes(bfv))))
def test_a_class_has_the_same_members_and_signatures(name):
    mine, theirs = members(public_classes(ckks)[name]), members(public_classes(bfv)[name])
    assert {f"{name}.{m}" for m in set(mine) - set(theirs)} == {n for n in ONLY_CKKS if n.startswith(f"{name}.")}
    assert {f"{name}.{m}" for m in set(theirs) - set(mine)} == {n for n in ONLY_BFV if n.startswith(f"{name}.")}
    for member in sorted(set(mine) & set(theirs)):
        a, b, call = mine[member], theirs[member], f"{name}.{member}"
        assert (a is None) == (b is None), f"{call} is a call in one and not in the other"
        if a is not None and b is not None:
            assert list(arguments("ckks", call, a)) == list(arguments("bfv", call, b)), call


@pytest.mark.parametrize("name", sorted(public_functions(bfv)))
def test_a_function_has_the_same_signature(name):
    a, b = public_functions(ckks)[name], public_functions(bfv)[name]
    assert list(arguments("ckks", name, a)) == list(arguments("bfv", name, b))


def test_the_table_of_names_is_complete():
    rows = re.findall(r"^\| (`.*?) \| (\w*) ?\|(.*)\|$", (DOCS / "expert-names.md").read_text(), re.MULTILINE)
    where = {call: scheme for first, scheme, _ in rows for call in re.findall(r"`([\w.]+)`", first)}
    inherited = {"Estimator.": "Evaluator.", "Estimate.": "Ciphertext."}
    for module, name in ((ckks, "ckks"), (bfv, "bfv")):
        other = "bfv" if name == "ckks" else "ckks"
        for call in sorted(calls(module)):
            known = call
            for theirs, ours in inherited.items():
                if call.startswith(theirs) and call not in where:
                    known = call.replace(theirs, ours)
            assert known in where, f"{name}.{call} does not stand in docs/expert-names.md"
            assert where[known] != other, f"{call} is in {name} too"
    gone = set(where) - calls(ckks) - calls(bfv)
    assert not gone, f"docs/expert-names.md names {gone}, which are no calls"
    for call, scheme in where.items():
        in_both = call in calls(ckks) and call in calls(bfv)
        assert (scheme == "") == in_both, f"{call}: the second column says {scheme!r}"
    assert all(len(re.split(r"(?<!\\)\|", others)) == 3 for _, _, others in rows)


def test_names_in_seal_exist():
    """SEAL's Python binding has its methods' names; those of Lattigo and OpenFHE were looked up in their sources."""
    seal = pytest.importorskip("tenseal.sealapi")
    kinds = [getattr(seal, name) for name in dir(seal) if not name.startswith("_")]
    known = {n for kind in kinds for n in dir(kind)} | set(dir(seal))
    known |= {"encrypt_symmetric", "coeff_modulus", "invariant_noise_budget", "decode"}
    rows = re.findall(r"^\| `.*?\| \w* ?\| (.*?) \|", (DOCS / "expert-names.md").read_text(), re.MULTILINE)
    named = {n for row in rows for n in re.findall(r"`(?:\w+::)?(\w+)(?:\(\))?`", row)}
    assert len(named) > 30 and named <= known, named - known


@pytest.mark.parametrize(("page", "scheme"), [("ckks.md", "ckks"), ("bfv.md", "bfv")])
def test_reprs_in_the_docs_are_those_that_are_printed(page, scheme):
    (shown,) = re.findall(r"# (Ciphertext\(.*\))$", (DOCS / page).read_text(), re.MULTILINE)
    if scheme == "ckks":
        p = ckks.Parameters(2**14, q_bits=[50, 40, 40, 40, 40], scale_bits=40)
        x = ckks.Encryptor(p, ckks.KeyGenerator(p).secret_key()).encrypt(np.ones(p.slots))
        assert repr(x.evaluator.mul(x, x)) == shown
    else:
        exact = bfv.Parameters.choose(depth=2, plain_bits=30)
        assert repr(bfv.Encryptor(exact, bfv.KeyGenerator(exact).secret_key()).encrypt(1)) == shown


def test_names_of_other_libraries_say_what_they_are_called_here():
    """Each stands in the row of the call that it leads to."""
    rows = [line for line in (DOCS / "expert-names.md").read_text().splitlines() if line.startswith("| `")]
    for other, here in OTHER_NAMES.items():
        assert any(re.search(rf"\.{here}`", row) and f"`{other}`" in row for row in rows), (other, here)
    w = worlds()
    for thing, other, text in (
        (w["bfv"].evaluator, "rotate_rows", "bfv.Evaluator has no rotate_rows: it is called rotate here"),
        (w["ckks"].x, "rescale_to_next", "ckks.Ciphertext has no rescale_to_next: it is called rescale here"),
        (w["ckks"].generator, "create_relin_keys", "it is called relin_key here"),
        (w["bfv"].decryptor, "invariant_noise_budget", "it is called noise_budget here"),
        (w["ckks"].evaluator, "rotate_columns", "ckks.Evaluator has no attribute 'rotate_columns'"),
        (w["ckks"].x, "nothing", "ckks.Ciphertext has no attribute 'nothing'"),
    ):
        with pytest.raises(AttributeError, match=text):
            getattr(thing, other)
