"""Files and bytes of both expert modules: the same calls, what they refuse, and what earlier builds wrote."""

from __future__ import annotations

import stat
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from expert_calls import worlds

from latticework import _core, bfv, ckks
from latticework.errors import DtypeError, FormatError, ParameterMismatchError, SecretKeyError, SecurityError
from latticework.schemes.rlwe.parameter_files import write_chain

WORLDS = worlds()
KINDS = ("SecretKey", "PublicKey", "EvaluationKeys", "Ciphertext")


@pytest.fixture(params=sorted(WORLDS))
def w(request):
    return WORLDS[request.param]


def other(w: SimpleNamespace) -> SimpleNamespace:
    return WORLDS["bfv" if w.module is ckks else "ckks"]


def things(w):
    return {"SecretKey": w.secret, "PublicKey": w.public, "EvaluationKeys": w.keys, "Ciphertext": w.x}


def decrypted(w, secret, public, keys, x):
    """What the things do together: a product, rotated, of something encrypted under the public key."""
    evaluator = w.module.Evaluator(w.parameters, keys)
    fresh = w.module.Encryptor(w.parameters, public, evaluator=evaluator).encrypt(w.values)
    return w.module.Decryptor(w.parameters, secret).decrypt((fresh * x).rotate(1))


@pytest.mark.parametrize("how", ["bytes", "file"])
def test_everything_comes_back(w, how, tmp_path):
    back = {}
    for name, thing in things(w).items():
        kind = getattr(w.module, name)
        if how == "bytes":
            back[name] = kind.from_bytes(thing.to_bytes(), w.parameters)
        else:
            thing.save(tmp_path / name)
            back[name] = kind.load(str(tmp_path / name), w.parameters)
            assert (tmp_path / name).read_bytes() == thing.to_bytes()
        assert back[name].key_set == thing.key_set == w.secret.key_set
    np.testing.assert_allclose(decrypted(w, *back.values()), decrypted(w, *things(w).values()), atol=1e-6)


def test_secret_keys_are_for_their_owner_alone(w, tmp_path):
    path = tmp_path / "secret"
    w.secret.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(SecretKeyError, match="other users may read"):
        w.module.SecretKey.load(path, w.parameters)
    with pytest.raises(FileExistsError):
        w.secret.save(path)


@pytest.mark.parametrize("name", KINDS)
def test_what_does_not_fit_is_refused(w, name, tmp_path):
    kind, data = getattr(w.module, name), things(w)[name].to_bytes()
    with pytest.raises(ParameterMismatchError, match=r"test_expert_files\.py:\d+: "):
        kind.from_bytes(data, w.others)  # other parameters
    with pytest.raises(DtypeError, match=f"{name}.from_bytes: the parameters: got .*Parameters; give {w.name}.Par"):
        kind.from_bytes(data, other(w).parameters)
    with pytest.raises((FormatError, ParameterMismatchError, SecretKeyError)):
        kind.from_bytes(things(other(w))[name].to_bytes(), w.parameters)  # the other scheme's
    damaged = bytearray(data)
    damaged[-1] ^= 1
    with pytest.raises(FormatError):
        kind.from_bytes(bytes(damaged), w.parameters)
    with pytest.raises(DtypeError, match=r"from_bytes: got str; give the bytes of a file; .*load\(path\) reads a file"):
        kind.from_bytes("x", w.parameters)
    with pytest.raises(DtypeError, match=r"load: got bytes; give the path of a file; from_bytes\(data\) reads bytes"):
        kind.load(data, w.parameters)
    with pytest.raises(DtypeError, match=r"save: got int; give the path of a file; to_bytes\(\) gives bytes"):
        things(w)[name].save(3)


def test_kinds_of_files_are_not_mistaken_for_each_other(w):
    for name, thing in things(w).items():
        for kind in KINDS:
            if kind != name:
                with pytest.raises((FormatError, SecretKeyError)):
                    getattr(w.module, kind).from_bytes(thing.to_bytes(), w.parameters)


@pytest.mark.parametrize("how", ["bytes", "file"])
def test_several_ciphertexts_have_names(w, how, tmp_path):
    m, path = w.module, tmp_path / "several"
    for given, names in (({"b": w.x, "a": w.x}, ["b", "a"]), ([w.x, w.x], ["0", "1"]), ((w.x,), ["0"])):
        if how == "bytes":
            found = m.ciphertexts_from_bytes(m.ciphertexts_to_bytes(given), w.parameters, evaluator=w.evaluator)
        else:
            m.save_ciphertexts(path, given)
            found = m.load_ciphertexts(path, w.parameters, evaluator=w.evaluator)
        assert list(found) == names and all(c.evaluator is w.evaluator for c in found.values())
        np.testing.assert_array_equal(w.decryptor.decrypt(found[names[0]]), w.decryptor.decrypt(w.x))
    with pytest.raises(FormatError, match=r"2 ciphertexts \(b, a\); load_ciphertexts reads them all"):
        m.Ciphertext.from_bytes(m.ciphertexts_to_bytes({"b": w.x, "a": w.x}), w.parameters)
    with pytest.raises(DtypeError, match=f"give {w.name}.Parameters"):
        m.load_ciphertexts(path, w.evaluator)
    with pytest.raises(DtypeError, match="the evaluator: got"):
        m.ciphertexts_from_bytes(w.x.to_bytes(), w.parameters, evaluator=other(w).evaluator)
    with pytest.raises(DtypeError, match=f"give a dictionary of {w.name}.Ciphertext"):
        m.ciphertexts_to_bytes(w.x)


def test_parameters_come_back(w, tmp_path):
    kind = w.module.Parameters
    w.parameters.save(tmp_path / "parameters")
    for found in (
        kind.from_bytes(w.parameters.to_bytes(), insecure=True),
        kind.load(tmp_path / "parameters", insecure=True),
    ):
        assert found == w.parameters and found.fingerprint == w.parameters.fingerprint
    with pytest.raises(SecurityError, match=r"INSECURE .*insecure=True reads them, for tests"):
        kind.from_bytes(w.parameters.to_bytes())
    with pytest.raises(ParameterMismatchError, match="the chain is one of"):
        kind.from_bytes(other(w).parameters.to_bytes(), insecure=True)
    data = w.parameters.to_bytes()
    for place in range(0, len(data), 37):
        damaged = bytearray(data)
        damaged[place] ^= 4
        with pytest.raises(FormatError, match="these are no parameters|the checksum does not fit"):
            kind.from_bytes(bytes(damaged), insecure=True)


def test_forged_parameters_are_measured_by_the_table(w):
    """The mark of an insecure set taken off, and fingerprint and hash computed anew."""
    kind = w.module.Parameters
    forged = replace(w.parameters.chain, insecure=False)
    for read in (
        lambda **marks: kind.from_bytes(write_chain(forged), **marks),
        lambda **_: kind.of_chain(forged),
    ):
        for marks in ({}, {"insecure": True}):
            with pytest.raises(SecurityError, match=r"not marked INSECURE: they were altered"):
                read(**marks)


def test_parameters_of_a_bootstrap_come_back():
    parameters = ckks.Bootstrapper("T11", slots=256).parameters
    found = ckks.Parameters.from_bytes(parameters.to_bytes(), insecure=True)
    assert found == parameters and ckks.Bootstrapper(found, slots=256).floor == parameters.chain.floor


def test_fingerprints_and_names_in_files_are_those_of_earlier_builds():
    """Keys and ciphertexts are found by the fingerprint of their parameters, ciphertexts by names from "0" on."""
    exact = bfv.Parameters(1024, [47] * 5, p_bits=[49] * 2, plain_bits=17, insecure=True)
    assert exact.fingerprint.hex() == "7f350c43645c48a97e1a816fe63cd211e02536d0129eb1ab146115aaa59ec464"
    chosen = bfv.Parameters.choose(ring_degree=2**13, plain_bits=30, depth=2)
    assert chosen.fingerprint.hex() == "b4ba900c97cc8968a7702d540f5ba3f7c7d777a906d0ea580fd837f4cd71ac74"
    real = ckks.Parameters(2**10, [46, 40, 40, (20, 20), 40], scale_bits=40, num_special=2, insecure=True)
    assert real.fingerprint.hex() == "65e68dc7b015c76fc00f08cb5a3716d31f7cee33779a6ed96e27bef2de86ebfc"
    w = WORLDS["ckks"]
    listed = _core.save_ciphertexts(None, [w.x.core, w.x.core], ["0", "1"], {})
    assert w.module.ciphertexts_to_bytes([w.x, w.x]) == listed
