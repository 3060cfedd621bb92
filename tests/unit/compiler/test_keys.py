"""The key manifest: exactly the keys that are used, at the highest level of their uses, each one secure."""

from dataclasses import replace
from math import log2, prod

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, expanded, plan_of, small_chain

from latticework import _core
from latticework.compiler.codegen.emit_code import emit_code
from latticework.compiler.keys import manifest, plan_keys
from latticework.compiler.levels import program_depth
from latticework.errors import SecurityError
from latticework.plan.instructions.register_kinds import KeyKind
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.values.packing.key_manifest import conjugation_element, galois_element


def manifest_of(primitives, chain):
    return manifest(emit_code(primitives, chain, plan_keys(primitives)), chain)


RNG = np.random.default_rng(2)


def program(seed):
    rng = np.random.default_rng(seed)
    v = Vectors(2)
    y = v.x[0]
    for _ in range(3):
        kind = rng.integers(4)
        if kind == 0:
            y = v.op("rotate", y, steps=int(rng.integers(-SLOTS, SLOTS)))
        elif kind == 1:
            y = v.op("mul", y, v.x[1])
        elif kind == 2:
            y = v.matrix(y, rng.normal(size=(SLOTS, SLOTS)))
        else:
            y = v.op("conjugate", y)
    return v.done(y)


@pytest.mark.parametrize("seed", range(20))
def test_the_manifest_lists_exactly_the_keys_used(seed):
    module = program(seed)
    chain = small_chain(program_depth(module))
    plan = plan_of(module, chain)
    used = {}
    for _, _, instruction in plan.walk():
        operand, *others = (plan.kind(o.register) for o in instruction.operands) if instruction.operands else (None,)
        for key in others:
            if isinstance(key, KeyKind):
                used[key.key] = max(used.get(key.key, 0), operand.level)
    assert sorted(used) == list(range(len(plan.keys)))
    assert [plan.keys[k].level for k in sorted(used)] == [used[k] for k in sorted(used)]
    identities = [(k.kind, k.galois_element) for k in plan.keys]
    assert len(set(identities)) == len(identities)
    assert tuple(u.spec for u in plan.client.manifest.uses) == plan.keys
    for k in plan.keys:
        assert (k.kind == "relin") == (k.galois_element == 0)
        assert k.kind == "relin" or (k.galois_element % 2 == 1 and 1 < k.galois_element < 2 * chain.ring_degree)


def test_a_program_without_key_switches_needs_no_keys():
    v = Vectors(1)
    plan = plan_of(v.done(v.op("mul", v.x[0], v.splat(0.5))), small_chain(1))
    assert plan.keys == () and plan.client.manifest.uses == ()
    assert plan.client.manifest.total_stored_bytes == plan.client.manifest.total_resident_bytes == 0


def test_a_key_used_at_two_levels_is_made_once_for_the_higher():
    v = Vectors(1)
    turned = v.op("rotate", v.x[0], steps=1)
    deep = v.op("mul", turned, v.splat(0.5))
    module = v.done(v.op("rotate", v.op("mul", deep, v.splat(0.5)), steps=1))
    primitives = expanded(module, small_chain(3))
    (key,) = plan_keys(primitives)
    assert key.level == 3 and key.galois_element == 5
    (use,) = manifest_of(primitives, small_chain(3)).uses
    assert use.count == 2 and use.steps == 1


@pytest.mark.parametrize("steps", [1, -1, 5, -8, 8])
def test_galois_elements_and_the_steps_they_are_reported_as(steps):
    n = 1024
    element = galois_element(steps, n)
    assert element == pow(5, steps, 2 * n)
    v = Vectors(1, slots=512)
    primitives = expanded(v.done(v.op("rotate", v.x[0], steps=steps)), small_chain(0))
    (use,) = manifest_of(primitives, small_chain(0)).uses
    assert use.steps == steps and use.spec.galois_element == element


def test_the_conjugation_key_has_no_steps():
    v = Vectors(1)
    primitives = expanded(v.done(v.op("conjugate", v.x[0])), small_chain(0))
    (use,) = manifest_of(primitives, small_chain(0)).uses
    assert use.spec.galois_element == conjugation_element(1024) == 2047 and use.steps is None


def test_bytes_and_bits_are_those_of_real_keys(tmp_path):
    module = program(0)
    chain = small_chain(program_depth(module))
    plan = plan_of(module, chain)
    keys = plan.client.manifest
    context = _core.Context(core_parameters(chain), "ref", 1)
    generator = _core.KeyGenerator(context)
    secret = generator.secret_key()
    for use, stored, resident, bits in zip(
        keys.uses, keys.bytes_stored, keys.bytes_resident, keys.log2_qp, strict=True
    ):
        spec = use.spec
        data = {"kind": spec.kind, "galois_element": spec.galois_element, "track": 0, "level": spec.level}
        made = generator.evaluation_keys(secret, [data])
        file = tmp_path / "keys"
        _core.save_evaluation_keys(str(file), made)
        limbs = chain.main.basis(spec.level)
        digits = sum(1 for d in chain.digits if set(d) & set(limbs))
        rows = digits * (len(limbs) + len(chain.special))
        # headers and sums of rows, and sections that start at multiples of 4096
        assert 0 <= file.stat().st_size - stored < 4200 + 64 * rows
        assert resident == 2 * digits * (len(limbs) + len(chain.special)) * chain.ring_degree * 8
        assert bits == pytest.approx(log2(prod(chain.limb_primes(limbs)) * prod(chain.special)))


def test_a_key_over_the_security_limit_is_refused_by_name():
    v = Vectors(1)
    chain = replace(small_chain(0, ring_degree=2048, scale_bits=40), insecure=False)
    primitives = expanded(v.done(v.op("rotate", v.x[0], steps=1)), chain)
    with pytest.raises(SecurityError, match=r"galois key 5.*N=2048.*128-bit security allows 53"):
        manifest_of(primitives, chain)
    assert manifest_of(primitives, replace(chain, insecure=True)).limit_bits == 53
