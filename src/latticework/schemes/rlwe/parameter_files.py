"""A modulus chain as bytes: plain data, a hash over it, and the fingerprint that keys and ciphertexts carry."""

from __future__ import annotations

from latticework.errors import FormatError, SecurityError
from latticework.plan.files.check_file import check_chain
from latticework.plan.files.codec import from_data, to_data
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.fingerprint import fingerprint
from latticework.values.extension import _core

MAGIC = b"latticework parameters\n"
VERSION = 1
HASH_BYTES = 32


def write_chain(chain: ModulusChain) -> bytes:
    """The bytes of a chain; equal chains give equal bytes."""
    body = {"version": VERSION, "fingerprint": fingerprint(chain), "chain": to_data(chain)}
    data = bytes(_core.cbor_encode(body))
    return MAGIC + bytes(_core.blake3(data)) + data


def read_chain(name: str, given: bytes, *, insecure: bool) -> ModulusChain:
    """The chain that bytes hold; `name` is what errors call them.

    insecure  accept a chain that is marked insecure
    raises    FormatError, SecurityError
    """
    if not given.startswith(MAGIC):
        raise FormatError(f"{name}: these are no parameters; give what Parameters.to_bytes or save made")
    start = len(MAGIC) + HASH_BYTES
    data = given[start:]
    if bytes(_core.blake3(data)) != given[len(MAGIC) : start]:
        raise FormatError(f"{name}: damaged: the checksum does not fit; copy the file again")
    body = _core.cbor_decode(data)
    version = body.get("version") if isinstance(body, dict) else None
    if version != VERSION:
        raise FormatError(f"{name}: version {version!r} of parameters; this latticework reads version {VERSION}")
    chain: ModulusChain = from_data(ModulusChain, body.get("chain"), f"{name}: chain")
    check_chain(chain)
    if fingerprint(chain) != bytes(body.get("fingerprint", b"")):
        raise FormatError(f"{name}: the fingerprint is of other parameters")
    if chain.insecure and not insecure:
        raise SecurityError(
            f"{name}: these parameters are INSECURE (log2(QP) = {chain.log2_qp:.1f} at N={chain.ring_degree}); "
            "insecure=True reads them, for tests"
        )
    return chain
