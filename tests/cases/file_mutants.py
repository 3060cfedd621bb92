"""Altered copies of one object of each kind, read in a process of its own.

    python file_mutants.py KIND COUNT

A crash, a hang or a request for much more memory than the object needs ends this process. All else is counted and
printed as JSON: the names of our errors, "same" for what was accepted and is written as the very bytes that were read,
"other" for what was accepted and is written in another form, BAD and a text for what must not be.
"""

import dataclasses
import json
import os
import random
import resource
import struct
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from bfv_plans import draw, plan_of
from plan_assembler import Assembler, Last, cipher
from rlwe_cases import SCALE, galois, plain_parameters, shared_case, spec
from test_plan_files import PLAN
from vec_cases import SLOTS, Vectors

from latticework import _core
from latticework.errors import UserError
from latticework.plan.client_steps import (
    Affine,
    Beside,
    Branches,
    ByName,
    Clip,
    Columns,
    Elementary,
    Extreme,
    Fill,
    Finished,
    Given,
    Labels,
    Normalise,
    OneHot,
    OwnerArray,
    OwnerStages,
    Piece,
    Prepared,
    Reduce,
    Softmax,
    TableRows,
)
from latticework.plan.files.code_file import encode_code
from latticework.plan.files.serialise import read_client, read_plan, write_client, write_plan
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.runtime.client.client import Client
from latticework.values.packing.packed_constants import slot_vectors

SPARE_BYTES = 8 << 20  # of address space, beyond what the unaltered object needed
SECONDS_PER_FILE = 3.0  # of a machine that may be busy
INTERESTING = (
    0,
    1,
    2,
    63,
    64,
    127,
    128,
    255,
    256,
    4095,
    4096,
    2**15,
    2**16 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63,
    2**64 - 1,
)
PROLOGUE, ENTRY, ROW = 128, 64, 48


# Checksums


def with_right_hashes(data):
    """All lengths and hashes that can be found made right again, from the description of the format alone."""
    data = bytearray(data)
    if len(data) < PROLOGUE:
        return bytes(data)
    header_bytes, count = struct.unpack_from("<II", data, 16)
    struct.pack_into("<Q", data, 24, len(data))
    head = PROLOGUE + header_bytes + ENTRY * count
    if head > len(data):
        return bytes(data)
    for i in range(count):
        entry = PROLOGUE + header_bytes + ENTRY * i
        flags = struct.unpack_from("<H", data, entry + 2)[0]
        offset, size = struct.unpack_from("<QQ", data, entry + 8)
        if offset > len(data) or size > len(data) - offset:
            continue
        hashed = rows_repaired(data, offset, size) if flags == 1 else size
        content = bytes(data[offset : offset + hashed])
        struct.pack_into("<Q32s", data, entry + 24, _core.fast_sum(content), _core.blake3(content))
    data[64:96] = _core.blake3(bytes(data[:64] + data[PROLOGUE:head]))
    return bytes(data)


def rows_repaired(data, offset, size):
    """Bytes of the table of a section of rows, their hashes made right."""
    if size < 8:
        return size
    num_rows = struct.unpack_from("<Q", data, offset)[0]
    table = -(-(8 + ROW * num_rows) // 64) * 64
    if table > size:
        return size
    at = offset + table
    for entry in range(offset + 8, offset + 8 + ROW * num_rows, ROW):
        length = struct.unpack_from("<Q", data, entry)[0]
        if length > offset + size - at:
            break
        row = bytes(data[at : at + length])
        struct.pack_into("<Q32s", data, entry + 8, _core.fast_sum(row), _core.blake3(row))
        at += length
    return table


# Mutants


def flipped(data, rng, below=None):
    at = rng.randrange(min(len(data), below or len(data)))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def overwritten(data, rng):
    at, length = rng.randrange(len(data) - 8), rng.choice((1, 2, 4, 8))
    if rng.randrange(2):
        at -= at % length
    order = rng.choice(("little", "big"))
    new = (rng.choice(INTERESTING) % (1 << 8 * length)).to_bytes(length, order)
    return data[:at] + new + data[at + length :]


def spliced(data, rng):
    """A stretch of the file over, or between, others: of whole sections where there are enough."""
    unit = rng.choice((1, 8, 64, 4096))
    places = [rng.randrange(0, len(data) + 1, unit) for _ in range(3)]
    first, last = sorted(places[:2])
    piece, to = data[first:last], places[2]
    return data[:to] + piece + data[to + (len(piece) if rng.randrange(2) else 0) :]


def altered_value(value, rng):
    """One leaf of a CBOR document replaced, removed or repeated."""
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        if rng.randrange(8) == 0:
            return {k: v for k, v in value.items() if k != key}
        if rng.randrange(8) == 0:
            return value | {key + "_": 0}
        return value | {key: altered_value(value[key], rng)}
    if isinstance(value, list) and value:
        i = rng.randrange(len(value))
        if rng.randrange(6) == 0:
            return value[:i] + value[i + 1 :]
        if rng.randrange(6) == 0:
            return [*value, value[i]]
        return [*value[:i], altered_value(value[i], rng), *value[i + 1 :]]
    if isinstance(value, bytes) and value and rng.randrange(2):
        return flipped(value, rng)
    if isinstance(value, int) and not isinstance(value, bool) and rng.randrange(2):
        return max(-(2**63), min(2**64 - 1, value + rng.choice((-2, -1, 1, 2, 64, 2**32))))
    choices = [*INTERESTING, -1, 0.0, -1.0, 1e308, float("inf"), float("nan"), None, True, "", "relin", b"", [], {}]
    return rng.choice(choices)


def with_altered_document(data, rng):
    """The header, or a section that is a CBOR document, with one leaf altered and the file rebuilt around it."""
    reader = _core.ContainerReader(data, list(_core.FileKind))
    header, sections = reader.header, []
    for i in range(reader.num_sections):
        rows = [reader.row(i, row) for row in range(reader.num_rows(i))]
        sections.append((reader.section_kind(i), rows or reader.section(i)))
    documents = [i for i, (_, content) in enumerate(sections) if is_document(content)]
    i = rng.choice([None, *documents])
    if i is None:
        header = altered_value(header, rng)
    else:
        changed = altered_value(_core.cbor_decode(sections[i][1]), rng)
        sections[i] = (sections[i][0], _core.cbor_encode(changed))
    return _core.write_container(None, reader.kind, reader.parameters, header, sections)


def is_document(content):
    try:
        return isinstance(content, bytes) and isinstance(_core.cbor_decode(content), dict | list)
    except UserError:
        return False


def mutants(data, count, rng, is_container):
    """(altered bytes, whether checksums are right again), none equal to the original."""
    document = None if is_container else _core.cbor_decode(data)
    made = 0
    while made < count:
        action, is_fixed = rng.randrange(100), is_container and rng.randrange(2) == 0
        if action < 30:
            new = flipped(data, rng)
        elif action < 45:
            new = flipped(data, rng, 512)
        elif action < 58:
            new = data[: rng.randrange(len(data))]
        elif action < 75:
            new = overwritten(data, rng)
        elif action < 80:
            new = data + rng.choice((bytes, rng.randbytes))(rng.choice((1, 63, 64, 4096)))
        elif action < 88:
            new = spliced(data, rng)
        elif is_container:
            new, is_fixed = with_altered_document(data, rng), True
        else:
            new = _core.cbor_encode(altered_value(document, rng))
        if is_fixed:
            new = with_right_hashes(new)
        if new != data:
            made += 1
            yield new, is_fixed


# Objects, and what users do with them


def exact_plan():
    """Every kind of instruction that BFV has."""
    v = Vectors(2)
    x, y = v.x
    weights = v.constant(np.arange(float(SLOTS)))
    product = v.op("mul", x, y)
    total = v.op("add", product, v.op("mul", v.op("rotate", x, steps=1), v.op("rotate", x, steps=2)))
    turned = v.op("rotate", v.op("mul", total, weights), steps=3)
    pair = v.op("concat", v.op("sub", turned, v.op("add", weights, x)), v.op("mul", x, x))
    last = v.op("sum", v.op("mul", pair, v.op("take", pair, vectors=(1, 0))), groups=1)
    return plan_of(v.done(v.matrix(v.op("add", last, v.splat(3)), np.eye(SLOTS, k=1))), ring_degree=1024)


class Objects:
    """One unaltered object of each kind, and its reading; `use` returns what was read in its written form."""

    def __init__(self, folder):
        self.case = shared_case("plain")
        self.context = self.case.context
        self.path = folder / "altered"
        self.x = self.case.encrypt(np.arange(8.0), 1)

    def secret_key(self):
        _core.save_secret_key(self.path, self.case.secret_key, self.context)
        return self.path.read_bytes(), self.use_secret_key

    def use_secret_key(self, data):
        self.path.write_bytes(data)
        key = _core.load_secret_key(self.path, self.context)
        _core.Encryptor(self.context, key).encrypt(self.case.encoder.encode(np.ones(4), (0, 0), SCALE))
        self.path.unlink()
        _core.save_secret_key(self.path, key, self.context)
        return self.path.read_bytes()

    def public_key(self):
        key = _core.KeyGenerator(self.context).public_key(self.case.secret_key)
        return _core.save_public_key(None, key), self.use_public_key

    def use_public_key(self, data):
        key = _core.load_public_key(data, self.context)
        _core.Encryptor(self.context, key).encrypt(self.case.encoder.encode(np.ones(4), (0, 0), SCALE))
        return _core.save_public_key(None, key)

    def key_data(self):
        n = self.case.n
        specs = [spec("galois", galois(1, n), 1), spec("relin", 0, 2), spec("galois", 2 * n - 1, 0)]
        keys = _core.KeyGenerator(self.context).evaluation_keys(self.case.secret_key, specs)
        return _core.save_evaluation_keys(None, keys)

    def evaluation_keys(self):
        return self.key_data(), self.use_evaluation_keys

    def use_evaluation_keys(self, data):
        keys = _core.load_evaluation_keys(data, self.context)
        for one in keys.specs:
            if one["kind"] == "galois" and (one["track"], one["level"]) == (0, 1):
                self.case.evaluator.rotate(self.x, one["galois_element"], keys)
        return _core.save_evaluation_keys(None, keys)

    def evaluation_key_file(self):
        return self.key_data(), self.use_key_file

    def use_key_file(self, data):
        """As far as the lowest level: rows above it may be anything, and are then refused when all is read."""
        file = _core.EvaluationKeyFile(data, self.context)
        for i in range(len(file)):
            file.read(i, (0, 0))
        return _core.save_evaluation_keys(None, _core.load_evaluation_keys(data, self.context))

    def mapped_keys(self):
        return self.key_data(), self.use_mapped_keys

    def use_mapped_keys(self, data):
        """As a server does, run after run."""
        self.path.write_bytes(data)
        keys = _core.MappedKeys(self.path, self.context, 1 << 20)
        executor = _core.Executor(self.context, self.rotation_plan(), keys)
        for _ in range(2):
            executor.run([self.x])
        return _core.save_evaluation_keys(None, _core.load_evaluation_keys(data, self.context))

    def rotation_plan(self):
        assembler = Assembler([spec("galois", galois(1, self.case.n), 1)])
        block = assembler.block(cipher(1, slots=8))
        key = block.op("key", [], ["key", 0], 0)
        block.yield_(block.op("rotate", [Last(block.args[0]), Last(key)], cipher(1, slots=8)))
        return assembler.plan(self.case.parameters)

    def ciphertext_data(self):
        values = [self.x, self.case.evaluator.square(self.case.encrypt(np.ones(4), 2))]
        return _core.save_ciphertexts(None, values, ["x", "y"], {"note": [1, 2]})

    def ciphertexts(self):
        return self.ciphertext_data(), self.use_ciphertexts

    def use_ciphertexts(self, data):
        values, names, extras = _core.load_ciphertexts(data, self.context)
        for x in values:
            self.case.evaluator.neg(x)
        return _core.save_ciphertexts(None, values, names, extras)

    def ciphertext_reader(self):
        return self.ciphertext_data(), self.use_ciphertext_reader

    def use_ciphertext_reader(self, data):
        reader = _core.CiphertextReader(data, self.context)
        for i in range(len(reader)):
            reader.read(i, (reader.level(i)[0], 0))
        return _core.save_ciphertexts(None, [reader.read(i) for i in range(len(reader))], reader.names, reader.extras)

    def plaintexts(self):
        encode = self.case.encoder.encode
        values = [encode(np.arange(8.0), (0, 2), 2.0**20), encode(np.full(4, 1.4), (0, 1), 2.0**61, "QP")]
        return _core.save_plaintexts(None, values, ["w", "v"], {}), self.use_plaintexts

    def use_plaintexts(self, data):
        reader = _core.PlaintextReader(data, self.context)
        values = [reader.read(i) for i in range(len(reader))]
        for i in range(len(reader)):
            reader.read(i, (reader.level(i)[0], 0))
        return _core.save_plaintexts(None, values, reader.names, reader.extras)

    def plan(self):
        return write_plan(PLAN), self.use_plan

    def use_plan(self, data):
        plan = read_plan(data)
        _core.Plan(core_parameters(plan.chain), encode_code(plan))
        return write_plan(plan)

    def bfv_plan(self):
        self.exact = exact_plan()
        owner = Client(self.exact.client, threads=1, allow_insecure=True)
        self.keys, self.owner_context = owner.keygen().public(), owner.context
        encrypted = owner.encrypt(*draw(np.random.default_rng(0), self.exact))
        self.inputs = [ciphertext for (ciphertext,) in encrypted.tensors.values()]
        return write_plan(self.exact), self.use_bfv_plan

    def use_bfv_plan(self, data):
        """As a server does with a plan that it was given."""
        plan = read_plan(data)
        if plan.client == self.exact.client:
            code = _core.Plan(core_parameters(plan.chain), encode_code(plan))
            _core.Executor(
                self.owner_context, code, self.keys.evaluation,
                lambda number, product=None: slot_vectors(plan.constants[number], plan.sources, product),
            ).run(self.inputs)  # fmt: skip
        return write_plan(plan)

    def client(self):
        return write_client(PLAN.client), self.use_client

    def owner_client(self):
        """With steps of every kind before and after."""
        (pack,) = {output.shape for output in PLAN.client.outputs}
        (given,) = {i.shape for i in PLAN.client.secret_inputs}
        count = given[-1]
        steps = (
            Beside(
                count,
                ((Columns(-1, count, (0,)), Fill(OwnerArray.of([0.5]))), (Columns(-1, count, tuple(range(1, count))),)),
            ),
            Clip(OwnerArray.of(-9.0), OwnerArray.of(9.0)),
            Elementary("exp"),
        )
        rows = (TableRows(OwnerArray.of(np.arange(7.0))), OneHot(Labels.of([0, 1])), Reduce("sum", -1))
        first, *others = PLAN.client.secret_inputs
        after = (Softmax(), Branches(((Elementary("tanh"),), (Normalise("l1"),)), -1), Extreme())
        stages = OwnerStages(
            (Given("raw", given, tuple(f"c{i}" for i in range(count))), *(Given(i.name, given) for i in others)),
            (Prepared(first.name, (Piece("raw", (*rows, *steps)),)), *(
                Prepared(i.name, (Piece(i.name, (Affine(OwnerArray.of(2.0), OwnerArray.of(0.1)),)),)) for i in others)),
            (Finished("label", PLAN.client.outputs[0].name, after),
             Finished("named", PLAN.client.outputs[0].name, (ByName(Labels.of([f"n{i}" for i in range(pack[-1])])),))),
        )  # fmt: skip
        return write_client(dataclasses.replace(PLAN.client, owner=stages)), self.use_client

    def use_client(self, data):
        return write_client(read_client(data))

    def parameters(self):
        return plain_parameters().to_cbor(), lambda data: _core.Parameters.from_cbor(data).to_cbor()


KINDS = (
    *("secret_key", "public_key", "evaluation_keys", "evaluation_key_file", "mapped_keys", "ciphertexts"),
    *("ciphertext_reader", "plaintexts", "plan", "bfv_plan", "client", "owner_client", "parameters"),
)


def outcome(use, data, is_fixed):
    started = time.monotonic()
    try:
        name = "same" if use(data) == data else "other"
        if not is_fixed and name == "other":
            name = "BAD accepted, and means something else"
        elif not is_fixed:
            name = "BAD accepted with wrong checksums"
    except UserError as error:
        name = type(error).__name__
    except BaseException as error:
        name = f"BAD {type(error).__name__}: {error}"[:300]
    return "BAD slow" if time.monotonic() - started > SECONDS_PER_FILE else name


def main(kind, count):
    os.umask(0o077)  # secret keys that others can read are refused
    counted = Counter()
    with tempfile.TemporaryDirectory() as folder:
        objects = Objects(Path(folder))
        context = objects.context
        data, use = getattr(objects, kind)()
        for _ in range(3):
            live = context.live_bytes
            context.reset_peak()
            assert use(data) == data
        allowed = 1.1 * (context.peak_bytes - live) + 4096
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        if "san.so" not in os.environ.get("LD_PRELOAD", ""):  # a sanitizer keeps what is freed
            resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_BYTES, used + SPARE_BYTES))
        for altered, is_fixed in mutants(data, int(count), random.Random(kind), kind != "parameters"):
            live = context.live_bytes
            context.reset_peak()
            name = outcome(use, altered, is_fixed or kind == "parameters")
            if context.peak_bytes - live > allowed:
                name = f"BAD {context.peak_bytes - live} bytes of rows, {allowed:.0f} are allowed ({name})"
            counted[name] += 1
    print(json.dumps(counted))


if __name__ == "__main__":
    main(*sys.argv[1:])
