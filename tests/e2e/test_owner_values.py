"""Decrypted values and secret keys stay with their owner: no copy, no serial form, no number in a text."""

import copy
import io
import json
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from e2e_cases import uniform

from latticework.errors import SecretKeyError

COPIES = {"pickle": pickle.dumps, "copy": copy.copy, "deepcopy": copy.deepcopy}
CONVERSIONS = {
    "asarray": np.asarray,
    "array": lambda v: np.array(v, dtype=float),
    "array of two": lambda v: np.array([v, v]),
    "ufunc": lambda v: np.add(v, 1),
    "function": lambda v: np.concatenate([v]),
    "save": lambda v: np.save(io.BytesIO(), v),
    "float": float,
    "int": int,
    "complex": complex,
    "bool": bool,
    "len": len,
    "list": list,
    "item": lambda v: v[0],
    "format": lambda v: f"{v:.3f}",
    "equal": lambda v: v == 1,
    "unequal": lambda v: v != 1,
    "less": lambda v: v < 1,
    "add": lambda v: v + 1,
    "subtract from array": lambda v: uniform(3) - v,
    "multiply": lambda v: 2.0 * v,
    "divide": lambda v: v / 2,
    "sum": sum,
}
HAS_NUMBER = re.compile(r"\d\.\d|\de-\d")


@pytest.fixture(scope="module")
def value(deployed):
    return deployed.run(uniform(4))


@pytest.mark.parametrize("use", (COPIES | CONVERSIONS).values(), ids=COPIES | CONVERSIONS)
def test_decrypted_values_are_used_through_reveal_only(value, use):
    with pytest.raises(SecretKeyError, match=r"hidden: .reveal\(\) gives the array to.*its noise reveals the key"):
        use(value)


@pytest.mark.parametrize("use", [json.dumps, bytes, memoryview, vars, lambda v: json.dumps({"result": v})])
def test_decrypted_values_have_no_other_serial_form(value, use):
    with pytest.raises(TypeError):
        use(value)


def test_decrypted_values_show_no_number(value):
    for text in (repr(value), str(value), f"{value}", value._repr_html_(), f"{[value]} {(value,)} { {'a': value} }"):
        assert not HAS_NUMBER.search(text) and "reveal" in text
    with pytest.raises(AttributeError):
        value.note = 1


def test_revealed_arrays_are_copies(value):
    before = value.reveal()
    value.reveal()[:] = 0
    np.testing.assert_array_equal(value.reveal(), before)


@pytest.mark.parametrize("use", COPIES.values(), ids=COPIES)
def test_secret_keys_are_never_copied(deployed, use):
    with pytest.raises(SecretKeyError, match=r"never pickled or copied; save\(folder\) writes them to files"):
        use(deployed.keys)
    with pytest.raises(SecretKeyError, match="never pickled or copied; save_secret_key writes it"):
        use(deployed.keys._secret)


@pytest.mark.parametrize("use", [pickle.dumps, copy.deepcopy, json.dumps], ids=["pickle", "deepcopy", "json"])
def test_clients_are_never_serialised(deployed, use):
    with pytest.raises(TypeError):
        use(deployed.client)


@pytest.mark.parametrize("use", [json.dumps, bytes, memoryview, np.asarray], ids=["json", "bytes", "view", "array"])
def test_secret_keys_have_no_other_serial_form(deployed, use):
    for key in (deployed.keys, deployed.keys._secret):
        if use is np.asarray:
            assert use(key).dtype == object
            continue
        with pytest.raises(TypeError):
            use(key)


def test_keys_show_nothing_of_the_secret(deployed):
    assert repr(deployed.keys._secret) == "SecretKey(...)"
    assert repr(deployed.keys).startswith("Keys(secret key hidden, ")


HOLDS_NO_SECRET = """
import gc, sys
import latticework as lw
from latticework import _core

def secrets():
    kinds = (_core.SecretKey, _core.Decryptor, _core.KeyGenerator, lw.Keys)
    return [r for o in gc.get_objects() for r in (o, *gc.get_referents(o)) if isinstance(r, kinds)]

server = lw.Server.load(sys.argv[1], sys.argv[2], threads=1)
outputs = server(server.load_encrypted(sys.argv[3]))
assert not secrets(), secrets()
client = lw.Client.load(sys.argv[1], threads=1, allow_insecure=True)
client.load_keys(sys.argv[4])
assert secrets()  # so the search finds what there is
"""


def test_a_server_process_holds_no_secret_key(files):
    arguments = [str(files[name]) for name in ("plan", "evaluation keys", "inputs", "secret key")]
    done = subprocess.run(
        [sys.executable, "-c", HOLDS_NO_SECRET, *arguments], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
