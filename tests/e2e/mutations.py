"""Reads many altered copies of one file, in a process of its own.

    python mutations.py KIND PLAN EVALUATION_KEYS FILE MODE

A crash, a hang, or a request for a lot of memory ends this process; everything else is counted and printed as JSON.

MODE  bytes: bytes are changed, hashes left as they are;  fixed: contents are changed and all hashes are right again
"""

import json
import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import latticework as lw
from latticework import _core
from latticework.errors import UserError
from latticework.plan.files.serialise import CLIENT_FILE, PLAN_FILE
from latticework.runtime.exchange.encrypted import load_encrypted

EXTRA_MEMORY_BYTES = 1 << 30
SECONDS_PER_FILE = 1.0


def cuts(data, rng):
    """Truncations: everywhere in the head, and at random places behind it."""
    for length in (*range(0, min(len(data), 700), 10), *(rng.randrange(len(data)) for _ in range(40))):
        yield data[:length]


def altered_bytes(data, rng):
    """Copies of a file with a few bytes wrong."""
    yield from cuts(data, rng)
    for i in range(160):
        at = rng.randrange(min(len(data), 512) if i % 2 else len(data))
        yield data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    for _ in range(40):
        at, length = rng.randrange(len(data) - 8), rng.choice([1, 2, 4, 8])
        new = rng.choice([b"\xff" * length, bytes(length), rng.randbytes(length)])
        if data[at : at + length] != new:
            yield data[:at] + new + data[at + length :]
    for count in (1, 63, 64, 4096):
        yield data + bytes(count)
        yield data + rng.randbytes(count)


def altered_contents(path, kind, rng):
    """Containers whose hashes are right, with sections that are not what was written."""
    reader = _core.ContainerReader(str(path), kinds=[kind])
    sections = [(reader.section_kind(i), bytes(reader.section(i))) for i in range(reader.num_sections)]

    def rebuilt(changed, header=reader.header):
        return bytes(_core.write_container(None, kind, bytes(reader.parameters), header, changed))

    for _ in range(200):
        i = rng.randrange(len(sections))
        number, content = sections[i]
        if not content:
            continue
        at = rng.randrange(len(content))
        action = rng.randrange(5)
        if action == 0:
            new = content[:at]
        elif action == 1:
            new = content[:at] + rng.randbytes(1) + content[at:]
        else:
            new = content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
        yield rebuilt([*sections[:i], (number, new), *sections[i + 1 :]])
    yield rebuilt(sections[:-1])
    yield rebuilt([*sections, sections[-1]])
    yield rebuilt(sections[::-1])
    for name in reader.header:
        yield rebuilt(sections, {k: v for k, v in reader.header.items() if k != name})
        yield rebuilt(sections, reader.header | {name: 7})
        yield rebuilt(sections, reader.header | {name: ["altered"]})


class User:
    """Loads files as their users would, and goes on with what was loaded."""

    def __init__(self, kind, plan, keys):
        self.kind, self.plan, self.keys = kind, plan, keys
        self.client = lw.Client.load(plan, threads=1, allow_insecure=True)
        self.server = lw.Server.load(plan, keys, threads=1)

    def use(self, path):
        if self.kind in ("plan", "client"):
            client = lw.Client.load(path, threads=1, allow_insecure=True)
            keys = client.keygen()
            inputs = client.encrypt(*(zeros(i) for i in client.spec.inputs))
            if self.kind == "plan":
                client.decrypt(lw.load(path).server(keys.public(), threads=1)(inputs))
        elif self.kind == "secret key":
            self.client.load_keys(path)
            self.client.encrypt(zeros(self.client.spec.inputs[0]))
        elif self.kind == "public key":
            self.client.load_public_key(path)
            self.client.encrypt(zeros(self.client.spec.inputs[0]))
        elif self.kind == "evaluation keys":
            lw.Server.load(self.plan, path, threads=1)
        else:
            self.server(load_encrypted(path, self.client.context))


def zeros(spec):
    return np.zeros(spec.shape) if hasattr(spec, "shape") else 0


def outcome(user, path):
    """Name of what happened; BAD and the text for what must not."""
    started = time.monotonic()
    try:
        user.use(path)
        name = "accepted"
    except UserError as error:
        name = type(error).__name__
    except BaseException as error:
        name = f"BAD {type(error).__name__}: {error}"[:300]
    return "BAD slow" if time.monotonic() - started > SECONDS_PER_FILE else name


def main(kind, plan, keys, source, mode):
    kinds = {"plan": PLAN_FILE, "client": CLIENT_FILE, "secret key": 3, "public key": 4, "evaluation keys": 5,
             "inputs": 6}  # fmt: skip
    user = User(kind, plan, keys)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + EXTRA_MEMORY_BYTES,) * 2)
    rng = random.Random(f"{kind} {mode}")
    copies = (
        altered_bytes(Path(source).read_bytes(), rng)
        if mode == "bytes"
        else (altered_contents(source, kinds[kind], rng))
    )
    os.umask(0o077)  # secret keys that others can read are refused
    counted = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "altered"
        for data in copies:
            path.write_bytes(data)
            counted[outcome(user, path)] += 1
    print(json.dumps(counted))


if __name__ == "__main__":
    main(*sys.argv[1:])
