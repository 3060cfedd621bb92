"""Costs of a client: predicted time, memory and bytes of making keys, encrypting and decrypting."""

from __future__ import annotations

from dataclasses import replace
from math import log2

from latticework.lazy_dataclass import dataclass
from latticework.plan.cost.cost_model import CostModel
from latticework.plan.files.serialise import client_file_bytes
from latticework.plan.instructions.value_shapes import WORD_BYTES, level_shape, packed_row_bytes
from latticework.plan.instructions.work_units import Shape
from latticework.plan.parameters import ModulusChain
from latticework.plan.schema.schema import ClientSpec, Output, SecretInput
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.sums import add_up

HEADROOM_BITS = 64  # above the scale: the core reads messages from as many limbs as that takes (rlwe/decryptor.cpp)


@dataclass(frozen=True, slots=True)
class ClientCosts:
    """Predicted for one thread, and one run. What Python does around the core is not counted: less than a millisecond
    for each input and output.

    keygen_seconds    all evaluation keys and the public key, with the memory that they are made in where all of them
                      are in memory together (`client.keygen()`); into a folder they are made one at a time
    encrypt_seconds   all inputs, encoding them included;  decrypt_seconds  all outputs
    keygen_bytes      memory of the keys, all together
    encrypt_bytes, decrypt_bytes  memory of the ciphertexts, and of what is in memory with them
    input_bytes       to send, of inputs encrypted with the secret key: a seed and one polynomial
    result_bytes      to receive
    key_bytes         evaluation keys to send, once
    file_bytes        the client file
    """

    keygen_seconds: float
    encrypt_seconds: float
    decrypt_seconds: float
    keygen_bytes: int
    encrypt_bytes: int
    decrypt_bytes: int
    input_bytes: int
    result_bytes: int
    key_bytes: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Costs:
    """Predicted costs of a program, for one thread and one run: at the server, and at the client.

    later_run_seconds    a run whose constants are encoded, in memory that an earlier one had
    first_run_seconds    the first run of a server;  key_loading_seconds  once before it
    memory_bytes         of the server at peak: ciphertexts, keys and constants
    """

    later_run_seconds: float
    first_run_seconds: float
    key_loading_seconds: float
    memory_bytes: int
    client: ClientCosts


def client_costs(spec: ClientSpec, model: CostModel) -> ClientCosts:
    """Predict what a client of a program takes."""
    chain = spec.chain
    times, row = len(chain.plain_moduli), WORD_BYTES * chain.ring_degree
    inputs = [(i, len(chain.main.basis(i.level))) for i in spec.secret_inputs]
    outputs = [(o, len(chain.main.basis(o.level))) for o in spec.outputs]
    return ClientCosts(
        keygen_seconds=_keygen_seconds(spec, model),
        encrypt_seconds=times * sum(i.pack.count * _encrypt_seconds(chain, i, limbs, model) for i, limbs in inputs),
        decrypt_seconds=times * sum(o.pack.count * _decrypt_seconds(chain, o, limbs, model) for o, limbs in outputs),
        keygen_bytes=spec.manifest.total_resident_bytes + 2 * row * chain.num_primes,
        encrypt_bytes=times * sum(2 * i.pack.count * limbs * row for i, limbs in inputs)
        + max((3 * limbs * row for _, limbs in inputs), default=0),  # the message, the secret and the error
        decrypt_bytes=times * sum((o.degree + 1) * o.pack.count * limbs * row for o, limbs in outputs)
        + max((4 * limbs * row for _, limbs in outputs), default=0),
        input_bytes=input_bytes(spec),
        result_bytes=result_bytes(spec),
        key_bytes=spec.manifest.total_stored_bytes,
        file_bytes=client_file_bytes(spec),
    )


def _keygen_seconds(spec: ClientSpec, model: CostModel) -> float:
    chain = spec.chain
    keys = add_up(model.seconds("generate_key", _key_shape(use.spec, chain)) for use in spec.manifest.uses)
    public = model.seconds("generate_key", Shape(chain.ring_degree, len(chain.primes), 1, (len(chain.primes),)))
    return keys + public + model.fresh_seconds(spec.manifest.total_resident_bytes)


def _key_shape(key: KeySpec, chain: ModulusChain) -> Shape:
    """Limbs of a key, and of its digits."""
    shape = level_shape(chain, key.level, key.track)
    if key.kind == "to_dense":
        return replace(shape, digit_limbs=(shape.q_limbs,))
    return replace(shape, p_limbs=1) if key.kind == "to_sparse" else shape


def _encrypt_seconds(chain: ModulusChain, spec: SecretInput, limbs: int, model: CostModel) -> float:
    encode = "bfv.encode" if chain.scheme == "bfv" else "encode"
    shape = Shape(chain.ring_degree, limbs, slots=spec.pack.slots)
    return model.seconds(encode, shape) + model.seconds("encrypt", Shape(chain.ring_degree, limbs))


def _decrypt_seconds(chain: ModulusChain, output: Output, limbs: int, model: CostModel) -> float:
    if chain.scheme == "bfv":
        return model.seconds("bfv.decrypt", Shape(chain.ring_degree, limbs))
    primes = chain.limb_primes(chain.main.basis(output.level))
    return model.seconds("decrypt", Shape(chain.ring_degree, message_limbs(primes, output.scale)))


def message_limbs(primes: tuple[int, ...], scale: float) -> int:
    """Return the number of limbs that the core reads a message from at a scale."""
    bits, count = 0.0, 0
    while count < len(primes) and bits < log2(scale) + HEADROOM_BITS:
        bits += log2(primes[count])
        count += 1
    return count


def stored_bytes(chain: ModulusChain, level: int, track: int, polys: int) -> int:
    """Bytes of a ciphertext in a file, without the header: rows bit-packed at the width of their primes."""
    return polys * sum(packed_row_bytes(chain, limb) for limb in chain.tracks[track].basis(level))


def input_bytes(spec: ClientSpec) -> int:
    """Bytes of all inputs as a client sends them: a seed and one polynomial each."""
    one = sum(i.pack.count * stored_bytes(spec.chain, i.level, 0, 1) for i in spec.secret_inputs)
    return len(spec.chain.plain_moduli) * one


def result_bytes(spec: ClientSpec) -> int:
    """Bytes of all results as a server sends them."""
    one = sum(o.pack.count * stored_bytes(spec.chain, o.level, 0, o.degree + 1) for o in spec.outputs)
    return len(spec.chain.plain_moduli) * one
