"""Every argument of every call of both expert modules, given something else: an error names the call and the line."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from expert_calls import members, public_classes, public_functions, worlds

from latticework import ckks
from latticework.errors import UserError

WORLDS = worlds()
FLAGS = {"rescale", "relin", "conjugate", "swap_rows", "insecure", "stored"}  # anything is true or false
NEVER = {"Plaintext", "Ciphertext.()", "EvaluationKeys.()", "PublicKey.()", "SecretKey.()"}  # made by others of ours
NOT_CHECKED = {"Ciphertext.using evaluator", "Evaluator.run operation", "Evaluator.bootstrap bootstrapper"}
OTHER_NAMES = {"linear_transform": "LinearTransform"}


def cases(w):
    """(call, function, arguments) of every argument that a call has to have, or may."""
    held = {
        "Ciphertext": w.x, "Evaluator": w.evaluator, "KeyGenerator": w.generator, "EvaluationKeys": w.keys,
        "PublicKey": w.public, "SecretKey": w.secret, "Encoder": w.encoder, "Encryptor": w.encryptor,
        "Decryptor": w.decryptor, "Parameters": w.parameters,
    }  # fmt: skip
    for name, kind in public_classes(w.module).items():
        for member, signature in members(kind).items():
            call = f"{name}.{member}"
            if name in held and signature is not None and not {call, name} & NEVER:
                yield call, kind if member == "()" else getattr(held[name], member)
    for name in public_functions(w.module):
        yield name, getattr(w.module, name)


def fitting(w, call):
    """Arguments with which most calls work, by name."""
    return {
        "x": w.x, "a": w.x, "b": w.x, "parameters": w.parameters, "keys": w.keys, "key": w.public, "data": b"",
        "secret_key": w.secret, "values": [1, 2], "vectors": [[1, 2]], "plaintext": w.plain, "ciphertext": w.x,
        "ciphertexts": [w.x], "level": 0, "exponent": 2, "factor": 2, "slots": 4, "depth": 1, "chain": w.parameters.chain,
        "steps": 1 if call.endswith(".rotate") else [1], "path": "/nowhere/at/all", "ring_degree": 1024,
        "q_bits": [40, 40], "scale_bits": 30, "transform": np.eye(4), "polynomial": ckks.Polynomial([1.0, 2.0]),
        "function": np.exp, "interval": (-1, 1), "degree": 3, "who": "x", "spec": None, "kind": "relin",
    }  # fmt: skip


def wrong_things(w):
    """What hardly any argument may be."""
    other = WORLDS["bfv" if w.module is ckks else "ckks"]
    return 1.5, "abc", object(), [object()], {1: 2}, np.ones((2, 2, 2)), 10**30, other.x, other.keys, other.parameters


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_an_argument_of_the_wrong_kind(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    w, met, unclear = WORLDS[name], 0, []
    for call, function in cases(w):
        arguments = inspect.signature(function).parameters.values()
        if call.split(".")[-1] in ("check_level", "reach", "serves"):
            continue
        for argument in arguments:
            if argument.name in FLAGS or f"{call} {argument.name}" in NOT_CHECKED:
                continue
            known = fitting(w, call)
            given = {p.name: known.get(p.name) for p in arguments if p.default is p.empty}
            for wrong in wrong_things(w):
                try:
                    function(**given | {argument.name: wrong})
                except OSError:
                    continue  # there is no such file
                except UserError as error:
                    text = str(error)
                    member = call.split(".")[-1].removesuffix("_many")
                    named = {
                        call.split(".")[0],
                        member,
                        argument.name,
                        OTHER_NAMES.get(member, call),
                        "abc" if argument.name == "path" else call,
                    }
                    met += 1
                    if "test_expert_misuse.py:" not in text or not any(n in text for n in named):
                        unclear.append((call, argument.name, text))
    assert met > 700 and not unclear, unclear


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_things_of_another_scheme_or_key(name):
    w, other = WORLDS[name], WORLDS["bfv" if name == "ckks" else "ckks"]
    stranger = w.module.Encryptor(w.parameters, w.module.KeyGenerator(w.parameters).secret_key()).encrypt(w.values)
    for wrong, text in (
        (lambda: w.evaluator.neg(other.x), f"neg: the operand: got {other.name}.Ciphertext; this evaluator takes Cip"),
        (lambda: w.x + other.x, f"got {other.name}.Ciphertext"),
        (lambda: w.x * other.plain, f"{other.name}.Plaintext"),
        (lambda: w.decryptor.decrypt(other.x), f"decrypt: the ciphertext: got {other.name}.Ciphertext; give one"),
        (lambda: w.module.Evaluator(w.parameters, other.keys), f"the keys: got {other.name}.EvaluationKeys; give what"),
        (lambda: w.module.Decryptor(w.parameters, w.public), "the key: got .*PublicKey; give keygen.secret_key()"),
        (lambda: w.module.Encryptor(w.parameters, w.generator.secret_key), "got method; give keygen.public_key"),
        (lambda: w.x + stranger, "key set"),
        (lambda: stranger.using(w.evaluator).rotate(1), "rotate: the ciphertext is under key set"),
        (lambda: w.decryptor.decrypt(stranger), "decrypt: the ciphertext is of key set .*use the key that it was"),
        (lambda: w.decryptor.decrypt(w.x, np.int16), "decrypt: dtype=.*are possible"),
        (lambda: w.evaluator.rotate(w.x, "1"), "rotate: steps is '1', a str; give a whole number"),
        (lambda: w.x @ np.eye(4), "@: "),
        (lambda: w.generator.galois_keys(), "galois_keys: no key is asked for"),
        (lambda: w.parameters.check_level("x", 9), "x: there is no level 9; these parameters have levels 0 to 3"),
    ):
        with pytest.raises(UserError, match=r"test_expert_misuse\.py:\d+: .*" + text):
            wrong()


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_what_is_shown(name):
    w = WORLDS[name]
    product = w.evaluator.mul(w.x, w.x)
    real = name == "ckks"
    for thing, text in (
        (w.x, "N=2^10, 4 slots, level 3 of 3, scale 2^40.0, 2 parts, 66.0 kB" if real
         else "N=2^10, 2 x 512 slots, level 3 of 3, t=120833, 2 parts, 66.0 kB"),
        (product, "N=2^10, 4 slots, level 3 of 3, scale 2^80.0, 3 parts, 99.1 kB" if real
         else "N=2^10, 2 x 512 slots, level 3 of 3, t=120833, 3 parts, 99.1 kB"),
        (w.secret, "N=2^10, hidden"),
        (w.generator, "N=2^10, secret key hidden"),
        (w.decryptor, "N=2^10, secret key hidden"),
        (w.encryptor, "N=2^10, secret key"),
        (w.keys, "N=2^10, relinearisation, 18 Galois keys, "),
        (w.evaluator, "N=2^10, 19 keys"),
        (w.parameters, "N=2^10, 3 levels, " + ("log2 Q=" if real else "t=120833, log2 Q=")),
    ):  # fmt: skip
        shown = repr(thing)
        assert shown.startswith(f"{type(thing).__name__}({name}, {text}"), shown
        assert "\n" not in shown and shown.endswith(")")


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_the_rules_of_the_docs(name):
    """Operators and a ciphertext's own methods settle what is pending; an evaluator's methods refuse it."""
    w, e = WORLDS[name], WORLDS[name].evaluator
    values, close = np.array([1, -2, 3, -4]), np.testing.assert_allclose

    def slots(c):
        return np.real(w.decryptor.decrypt(c)).reshape(-1)[:4]

    pending = e.mul(w.x, w.x)
    assert pending.degree == 2 and not pending.is_settled and pending.settle().is_settled
    length = 4 if name == "ckks" else w.parameters.row_slots
    row = np.zeros(length)
    row[:4] = values**2
    close(slots(pending.rotate(1)), np.roll(row, -1)[:4], atol=1e-6)
    close(slots(pending.rotate_many([1, 0, 2])[2]), np.roll(row, -2)[:4], atol=1e-6)
    close(slots(pending.inner_sum(3)), sum(np.roll(row, -k) for k in range(3))[:4], atol=1e-6)
    turned = pending.conjugate() if name == "ckks" else pending.swap_rows().swap_rows()
    close(slots(turned), values**2, atol=1e-6)
    close(slots(pending * w.x), values**3, atol=1e-5)
    close(slots(pending**2), values**4, atol=1e-5)
    close(slots(pending + w.x), values**2 + values, atol=1e-6)
    moves = "conjugate" if name == "ckks" else "swap_rows"
    for refused in (lambda: e.rotate(pending, 1), lambda: e.rotate_many(pending, [1]), lambda: e.inner_sum(pending),
                    lambda: getattr(e, moves)(pending), lambda: e.mul(pending, w.x), lambda: e.square(pending),
                    lambda: e.mul_relin(pending, w.x)):  # fmt: skip
        with pytest.raises(UserError, match="has degree 2; relinearize it first"):
            refused()
    low = e.mod_switch(w.x, 1) if name == "bfv" else e.level_to(w.x, 1)
    assert (w.x + low).level == (w.x * low).level == 1 and e.mod_switch(w.x).level == 2
    for refused in (lambda: e.add(w.x, low), lambda: e.sub(low, w.x), lambda: e.mul(w.x, low),
                    lambda: e.mul_relin(low, w.x)):  # fmt: skip
        with pytest.raises(UserError, match=r"at level \d.* and level \d.*mod_switch\(x, 1\)"):
            refused()
    aligning = w.module.Evaluator(w.parameters, w.keys, align=True)
    close(slots(aligning.add(w.x, low)), 2 * values, atol=1e-6)
    close(slots(aligning.mul(low, w.x)), values**2, atol=1e-6)
    close(slots(aligning.square(aligning.mul(w.x, w.x))), values**4, atol=1e-5)
    for got, want in zip(e.mul_plain([w.x, low], 3), (3 * values, 3 * values), strict=True):
        close(slots(got), want, atol=1e-6)
    assert e.mul_relin(w.x, w.x).degree == 1
    with pytest.raises(TypeError, match="truth value"):
        bool(w.x)


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_rotations_are_composed_of_powers_of_two(name):
    """There are keys of 1, -1, 2, -2, ... only (`steps=None`)."""
    w = WORLDS[name]
    length = 64 if name == "ckks" else w.parameters.row_slots
    values = np.arange(length)
    x = w.encryptor.encrypt(values)
    for steps in (3, 7, -5, 27, length // 2, length - 1, 5 * length + 11):
        found = np.real(w.decryptor.decrypt(x.rotate(steps))).reshape(-1)[:length]
        np.testing.assert_allclose(found, np.roll(values, -steps), atol=1e-5)
    few = w.module.Evaluator(w.parameters, w.generator.galois_keys([1, 2]))
    np.testing.assert_allclose(
        np.real(w.decryptor.decrypt(few.rotate(x, 2))).reshape(-1)[:length], np.roll(values, -2), atol=1e-5
    )
    with pytest.raises(UserError, match=r"no key for rotation by 8 among the 2 keys; .*galois_keys\(steps=\[8\]\)"):
        few.rotate(x, 8)
    with pytest.raises(UserError, match="no key for rotation by 3"):
        few.rotate_many(x, [1, 3])
