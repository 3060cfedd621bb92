"""How objects show themselves: one line of one style, and nothing that is secret."""

import numpy as np
import pytest

import latticework as lw
from latticework.errors.shown import count_noun, describe, size

SECRET = 0.7318


@lw.program
def scaled(x: lw.Secret[2, 4], w):
    return x * w


@pytest.fixture(scope="module")
def objects():
    data = np.full((2, 4), SECRET)
    model = lw.compile(scaled, weights=(np.linspace(0.25, 0.5, 4),), precision_bits=8, ring_degree=1024, insecure=True)
    client = model.client(threads=1)
    fresh = repr(client)
    keys = client.keygen()
    server = model.server(keys.public(), threads=1)
    sent = client.encrypt(data)
    result = server(sent)
    value = client.decrypt(result)
    return {
        "model": model, "plan": model.plan, "spec": model.plan.client, "report": model.report(), "client": client,
        "server": server, "keys": keys, "public": keys.public(), "sent": sent, "result": result, "value": value,
        "fresh": fresh,
    }  # fmt: skip


def test_what_stands_for_a_program_begins_alike(objects):
    program = "ckks, N=2^10, program scaled"
    assert repr(objects["model"]) == f"Model({program}, spends 1 of 1 level, 0 keys, INSECURE)"
    for name in ("plan", "spec", "server", "client", "report"):
        assert repr(objects[name]).split("(", 1)[1].startswith(program), name
        assert "INSECURE" in repr(objects[name])
    assert repr(objects["plan"]).endswith("instructions, 1 constant)")


def test_what_is_secret_is_said_to_be_hidden(objects):
    assert "no keys yet" in objects["fresh"] and "secret key hidden" in repr(objects["client"])
    assert repr(objects["keys"]).startswith("Keys(secret key hidden, 0 evaluation keys, ")
    assert repr(objects["public"]).startswith("PublicKeys(0 evaluation keys, ")
    assert repr(objects["sent"]).startswith("Encrypted(inputs of program scaled, x, ")
    assert repr(objects["value"]).startswith("OwnerValue(shape (2, 4), hidden: .reveal() gives it to its owner")
    assert objects["value"].reveal()[0, 0] == pytest.approx(SECRET / 4, abs=1e-2)


def test_all_are_one_short_line_without_data(objects):
    digits = str(objects["value"].reveal()[0, 0])[:5]
    for name, value in objects.items():
        text = value if isinstance(value, str) else repr(value)
        assert text.isprintable() and len(text) < 140 and text.endswith(")"), name
        assert "0.73" not in text and digits not in text and "0x" not in text and "array(" not in text


def test_exact_programs_show_their_modulus():
    @lw.circuit
    def doubled(a: lw.scalar(low=0, high=9)):
        return a + a

    model = lw.compile(doubled, scheme="bfv", plain_bits=20)
    assert repr(model).startswith("Model(bfv, N=2^")
    assert f"program doubled, t={model.plan.chain.plain_modulus}, 0 keys, 128-bit security)" in repr(model)


def test_pieces():
    assert describe("Kind", "a", "", "b\n") == r"Kind(a, b\n)"
    assert [count_noun(1, "key"), count_noun(1200, "key")] == ["1 key", "1,200 keys"]
    assert [size(0), size(1234), size(999_999)] == ["0 B", "1.23 kB", "1.00 MB"]
