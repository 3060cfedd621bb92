"""Collect demands into the key manifest: one key per Galois element, at the highest level of its uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from math import log2

from latticework.errors import SecurityError
from latticework.errors.rounded_numbers import over
from latticework.ir import Module
from latticework.plan.instructions.executable import Executable
from latticework.plan.instructions.key_bytes import resident_bytes, stored_bytes
from latticework.plan.instructions.value_shapes import key_limbs
from latticework.plan.instructions.walk import Domain, Walk, inner_blocks
from latticework.plan.parameters import ModulusChain, modulus_limit_bits, sparse_modulus_limit_bits
from latticework.values.packing.key_manifest import (
    KINDS,
    KeyManifest,
    KeySpec,
    KeyUse,
    conjugation_element,
    galois_element,
)
from latticework.values.sums import add_up


def plan_keys(module: Module, chain: ModulusChain | None = None) -> tuple[KeySpec, ...]:
    """The keys that serve all demands of an expanded module, ordered by kind and element.

    chain  if given, a key on one track also serves demands on others that lie within its limbs
    """
    demands = {op.attrs["spec"] for op in module.walk() if op.name == "key.demand"}
    if chain is not None:
        return covering_keys(demands, chain)
    highest: dict[tuple[str, int, int], int] = {}
    for spec in demands:
        identity = (spec.kind, spec.galois_element, spec.track)
        highest[identity] = max(spec.level, highest.get(identity, 0))
    return _in_order(KeySpec(kind, element, track, level) for (kind, element, track), level in highest.items())


def covering_keys(specs: Iterable[KeySpec], chain: ModulusChain) -> tuple[KeySpec, ...]:
    """Those of some keys that serve all the others too: a key serves levels within its own that are cut alike."""
    covering: dict[tuple[str, int], list[KeySpec]] = {}
    for spec in sorted(set(specs), key=lambda k: (-len(chain.tracks[k.track].basis(k.level)), k.track)):
        same = covering.setdefault((spec.kind, spec.galois_element), [])
        if not any(chain.covers((k.track, k.level), (spec.track, spec.level)) for k in same):
            same.append(spec)
    return _in_order(spec for same in covering.values() for spec in same)


def _in_order(specs: Iterable[KeySpec]) -> tuple[KeySpec, ...]:
    return tuple(sorted(specs, key=lambda k: (KINDS.index(k.kind), k.galois_element, k.track, -k.level)))


def manifest(code: Executable, chain: ModulusChain) -> KeyManifest:
    """The manifest of the keys of code, each checked by itself against the security table.

    raises  SecurityError naming the key whose modulus is too long
    """
    uses = _products(code, chain)
    steps = steps_by_element(chain)
    dense_limit = modulus_limit_bits(chain.ring_degree, chain.security_bits)
    sparse_limit = sparse_modulus_limit_bits(chain.ring_degree, chain.security_bits)
    bits = []
    for key in code.keys:
        limit = sparse_limit if key.kind == "to_sparse" else dense_limit
        bits.append(add_up(log2(p) for p in chain.limb_primes(tuple(sorted(key_limbs(chain, key))))))
        if not chain.insecure and (limit is None or bits[-1] > limit):
            raise SecurityError(
                f"the {key.kind} key {key.galois_element} would have log2(QP) = {over(bits[-1], limit or 0)} at "
                f"N={chain.ring_degree}; {chain.security_bits}-bit security allows {limit}; use a larger ring_degree"
            )
    return KeyManifest(
        tuple(KeyUse(k, steps.get(k.galois_element), uses[k]) for k in code.keys),
        tuple(stored_bytes(k, chain) for k in code.keys),
        tuple(resident_bytes(k, chain) for k in code.keys),
        tuple(bits),
        dense_limit,
    )


def _products(code: Executable, chain: ModulusChain) -> Counter[KeySpec]:
    """Products with each key, of all instructions once; of those in a called block once for every call."""
    walk = Walk(code, chain, Domain())

    @cache
    def of_block(number: int) -> Counter[KeySpec]:
        result = Counter[KeySpec]()
        for site in walk.sites(number):
            for place, times in site.record.keys(site.use).items():
                result[site.use.operands[place]] += times
            for inner in inner_blocks(site.instruction):
                result.update(of_block(inner))
        return result

    return of_block(0)


def steps_by_element(chain: ModulusChain) -> dict[int, int]:
    """The signed left rotation of full vectors that each Galois element but 1 makes; conjugations are not in it."""
    half = chain.slots
    signed = {}
    element = 1
    for steps in range(half):
        signed[element] = steps - half if steps > half // 2 else steps
        element = element * 5 % (2 * chain.ring_degree)
    del signed[1]
    assert galois_element(1, chain.ring_degree) == 5
    assert conjugation_element(chain.ring_degree) not in signed
    return signed
