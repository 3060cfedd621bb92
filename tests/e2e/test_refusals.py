"""What a server learns from whether a BFV client refuses its results: counted per key set, wherever the keys are used."""

import json
import os
import re
import signal
from itertools import islice

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework import _core, bfv, cli
from latticework.commands.decrypt import _facts
from latticework.errors import DecryptionError, ParameterMismatchError, SecurityError
from latticework.runtime.client.client import Client
from latticework.runtime.exchange.decrypted import OwnerValue
from latticework.runtime.exchange.encrypted import Encrypted

LEDGER = "secret.lwkey.ledger"


@lw.circuit
def triple(a: lw.vector(4, low=-9, high=9), b: lw.scalar(low=0, high=9)):
    return a * 3, b * 2


@pytest.fixture(scope="module")
def model():
    return lw.compile(triple, scheme="bfv", plain_bits=17, ring_degree=1024, insecure=True, effort="fast")


@pytest.fixture
def session(model):
    """A client with keys in memory, its keys, and outputs."""
    client = model.client(threads=1)
    keys = client.keygen()
    return client, keys, model.server(keys.public(), threads=1)(client.encrypt(a=[1, 2, 3, 4], b=5))


def ruined(client, outputs, *which, other_scale=()):
    """The same outputs with noise in some ciphertexts that leaves no certain message, and others at another scale."""
    evaluator = _core.Evaluator(client.context)
    altered = [each for array in outputs.tensors.values() for each in array]  # however they are laid out
    for number in which or range(len(altered)):
        altered[number] = evaluator.mul_int(altered[number], (1 << 61) - 1, altered[number].scale)
    for number in other_scale:
        altered[number] = evaluator.mul_int(altered[number], 1, 2.0)
    rest = iter(altered)
    tensors = {name: tuple(islice(rest, len(array))) for name, array in outputs.tensors.items()}
    return Encrypted(outputs.role, outputs.program, outputs.interface, tensors, {}, outputs.extent)


def answers(client, outputs, count=12, **options):
    """What a server sees of so many results in a row."""
    found = []
    for _ in range(count):
        try:
            client.decrypt(outputs, **options)
            found.append("decrypted")
        except DecryptionError as error:
            found.append("refused" if "allow_refusals" not in str(error) else "limit")
        except SecurityError as error:
            assert "allow_refusals" in str(error)
            found.append("limit")
    return found


def reveal(values):
    return [np.asarray(value.reveal()).tolist() for value in values]


@pytest.mark.parametrize("place", ["memory", "saved", "folder", "loaded", "shared"])
def test_a_key_set_answers_a_few_refusals_and_no_more(model, session, tmp_path, place):
    client, keys, outputs = session
    bad = ruined(client, outputs)
    assert answers(client, bad, 1) == ["refused"]
    if place == "folder":
        client = model.client(threads=1)
        keys = client.keygen(tmp_path / "keys")
        outputs = model.server(keys.public(), threads=1)(client.encrypt(a=[1, 2, 3, 4], b=5))
        bad = ruined(client, outputs)
        assert answers(client, bad, 1) == ["refused"]
    elif place != "memory":
        keys.save(tmp_path / "keys")
    if place == "loaded":
        client = model.client(threads=1)
        client.load_keys(tmp_path / "keys")
    if place == "shared":
        client = model.client(keys=keys, threads=1)
    assert answers(client, outputs, 3) == ["decrypted"] * 3  # right results are not counted
    assert answers(client, bad) == ["refused"] * 3 + ["limit"] * 9
    assert answers(client, outputs, 1) == ["limit"]
    assert reveal(client.decrypt(outputs, allow_refusals=5)) == [[3, 6, 9, 12], 10]
    assert answers(client, bad, 2, allow_refusals=5) == ["refused", "limit"]
    if place != "memory":
        other = model.client(threads=1)
        other.load_keys(tmp_path / "keys")
        with pytest.raises(SecurityError, match=rf"5 results .*{re.escape(str(tmp_path / 'keys' / LEDGER))}"):
            other.decrypt(outputs)


@pytest.fixture
def several(model, session):
    """The same client, and outputs of three runs, each in a ciphertext of its own."""
    client, keys, _ = session
    return client, model.server(keys.public(), threads=1)(client.encrypt(a=np.ones((3, 4)), b=[5, 6, 7]))


def test_one_message_for_whatever_was_wrong_with_a_result(several):
    client, outputs = several
    said = set()
    for which in ((0,), (2,), (0, 1), (0, 1, 2)):
        with pytest.raises(DecryptionError) as caught:
            client.decrypt(ruined(client, outputs, *which), allow_refusals=99)
        said.add(re.sub(r"Refusal \d+", "", caught.value.message))
    assert len(said) == 1


def test_what_anybody_can_see_is_checked_before_anything_is_decrypted(several):
    client, outputs = several
    said = set()
    for which in ((0,), (1,), (0, 1)):
        with pytest.raises(ParameterMismatchError, match="the ciphertext was altered") as caught:
            client.decrypt(ruined(client, outputs, *which, other_scale=[2]))
        said.add(caught.value.message)
    assert len(said) == 1
    assert answers(client, ruined(client, outputs), 5) == ["refused"] * 4 + ["limit"]  # none of these was counted


def test_all_of_a_result_is_decrypted_before_it_is_refused(several, monkeypatch):
    client, outputs = several
    decrypt, seen = client._decryptors[0].decrypt, []

    def count(ciphertext):
        seen.append(ciphertext)
        return decrypt(ciphertext)

    monkeypatch.setattr(client, "_decryptors", [type("Counting", (), {"decrypt": staticmethod(count)})])
    for which in ((0,), (2,), (0, 1, 2)):
        seen.clear()
        assert answers(client, ruined(client, outputs, *which), 1) == ["refused"]
        assert len(seen) == sum(map(len, outputs.tensors.values()))


def test_folders_of_keys_have_a_ledger_and_say_so_where_it_is_gone(model, session, tmp_path):
    client, keys, outputs = session
    keys.save(tmp_path / "keys")
    client.keygen(tmp_path / "more")
    for folder in ("keys", "more"):
        assert sorted(os.listdir(tmp_path / folder)) == ["evaluation.lwkeys", "public.lwkey", "secret.lwkey", LEDGER]
    keys.public().save(tmp_path / "theirs")
    assert LEDGER not in os.listdir(tmp_path / "theirs")
    (tmp_path / "keys" / LEDGER).rename(tmp_path / "elsewhere")
    other = model.client(threads=1)
    other.load_keys(tmp_path / "keys")
    other.encrypt(a=[1, 2, 3, 4], b=5)  # needs none
    with pytest.raises(SecurityError, match="is missing"):
        other.decrypt(outputs)
    other.load_keys(tmp_path / "keys", ledger=tmp_path / "elsewhere")
    assert reveal(other.decrypt(outputs)) == [[3, 6, 9, 12], 10]
    (tmp_path / "keys" / "secret.lwkey").unlink()
    (tmp_path / "elsewhere").rename(tmp_path / "keys" / LEDGER)
    for make in (lambda: client.keygen(tmp_path / "keys"), lambda: keys.save(tmp_path / "keys")):
        with pytest.raises(FileExistsError, match="the ledger of a key that was here"):
            make()


def test_keys_that_are_gone_on_with_keep_their_ledger(tmp_path):
    class Stop(Exception):
        pass

    def stop(_):
        raise Stop

    @lw.circuit
    def product(a: lw.vector(2, low=-9, high=9)):
        return a[0] * a[1]

    made = lw.compile(product, scheme="bfv", plain_bits=17, ring_degree=2048, insecure=True, effort="fast")
    client = made.client(threads=1)
    for _ in range(2):
        with pytest.raises(Stop):
            client.keygen(tmp_path / "keys", on_event=stop)
        ledger = (tmp_path / "keys" / LEDGER).read_bytes()
    client.keygen(tmp_path / "keys")
    assert (tmp_path / "keys" / LEDGER).read_bytes() == ledger


def test_ckks_results_are_never_refused_and_need_no_ledger(tmp_path):
    @lw.program
    def square(x: lw.Secret[4]):
        return x * x

    made = lw.compile(square, calibrate=np.ones((4, 4)), ring_degree=1024, insecure=True, precision_bits=8)
    client = made.client(threads=1)
    keys = client.keygen()
    keys.save(tmp_path / "keys")
    assert LEDGER not in os.listdir(tmp_path / "keys")
    client.load_keys(tmp_path / "keys")
    outputs = made.server(keys.public(), threads=1)(client.encrypt(np.ones(4)))
    bad = ruined(client, outputs)
    assert answers(client, bad) == ["decrypted"] * 12
    assert not np.isfinite(client.decrypt(bad).error_bound)  # but marked


class TestExperts:
    """`latticework.bfv`: the ledger belongs to the secret key."""

    @pytest.fixture
    def world(self):
        parameters = bfv.Parameters(1024, [47] * 2, p_bits=[49], plain_bits=30, insecure=True).on(threads=1)
        keygen = bfv.KeyGenerator(parameters)
        key = keygen.secret_key()
        fresh = bfv.Encryptor(parameters, key, evaluator=bfv.Evaluator(parameters)).encrypt([1, 2, 3])
        noisy = fresh
        for _ in range(3):
            noisy = noisy * 12345
        for _ in range(2):
            noisy = noisy * np.full((2, 512), 123456)
        return parameters, key, fresh, noisy

    def see(self, decryptor, ciphertext):
        try:
            return decryptor.decrypt(ciphertext)[0, :3].tolist()
        except (DecryptionError, SecurityError) as error:
            return type(error)

    def test_decryptors_of_one_key_count_together(self, world, tmp_path):
        parameters, key, fresh, noisy = world
        assert self.see(bfv.Decryptor(parameters, key), fresh) == [1, 2, 3]
        assert [self.see(bfv.Decryptor(parameters, key), noisy) for _ in range(2)] == [DecryptionError] * 2
        key.save(tmp_path / "key")
        again = bfv.SecretKey.load(tmp_path / "key", parameters)
        assert [self.see(bfv.Decryptor(parameters, again), noisy) for _ in range(3)] == [
            DecryptionError, DecryptionError, SecurityError,
        ]  # fmt: skip
        assert self.see(bfv.Decryptor(parameters, key), fresh) is SecurityError
        assert self.see(bfv.Decryptor(parameters, key, allow_refusals=5), fresh) == [1, 2, 3]
        with pytest.raises(FileExistsError):
            key.save(tmp_path / "key")

    def test_a_list_with_refused_ones_counts_once(self, world):
        parameters, key, fresh, noisy = world
        decryptor = bfv.Decryptor(parameters, key)
        with pytest.raises(DecryptionError, match=r"Refusal 1 of 4.*counted in memory"):
            decryptor.decrypt_many([fresh, noisy, noisy])
        with pytest.raises(DecryptionError, match="Refusal 2 of 4"):
            decryptor.decrypt_many([noisy])
        assert [each[0, 1] for each in decryptor.decrypt_many([fresh, fresh])] == [2, 2]
        assert decryptor.decrypt_many([]) == []


def command(*words):
    """Exit status of a command and what it says."""
    done = CliRunner().invoke(cli.app, list(words))
    return done.exit_code, done.output


def test_on_the_command_line(session, tmp_path, monkeypatch):
    client, keys, outputs = session
    monkeypatch.chdir(tmp_path)
    client.save(tmp_path / "m.lwclient")
    keys.save(tmp_path / "keys")
    outputs.save(tmp_path / "good.lwct")
    ruined(client, outputs).save(tmp_path / "bad.lwct")
    told = [command("decrypt", "m.lwclient", "bad.lwct", "--insecure") for _ in range(5)]
    assert [status for status, _ in told] == [1] * 5
    assert [said.split(":")[0] for _, said in told] == ["DecryptionError"] * 4 + ["SecurityError"]
    assert "--allow-refusals 8 goes on knowingly" in told[4][1]
    good = ("decrypt", "m.lwclient", "good.lwct", "--insecure")
    assert command(*good)[0] == 1
    assert command(*good, "--allow-refusals", "5")[0] == 0
    (tmp_path / "keys" / LEDGER).rename(tmp_path / "moved")
    status, said = command(*good)
    assert status == 1 and "or name it with --ledger;" in said
    assert command(*good, "--ledger", "moved", "--allow-refusals", "5")[0] == 0


def test_no_output_replaces_a_ledger(session, tmp_path, monkeypatch):
    client, keys, _ = session
    monkeypatch.chdir(tmp_path)
    client.save(tmp_path / "m.lwclient")
    keys.save(tmp_path / "keys")
    np.savez(tmp_path / "x.npz", a=[1, 2, 3, 4], b=5)
    before = (tmp_path / "keys" / LEDGER).read_bytes()
    status, said = command("encrypt", "m.lwclient", "x.npz", "--insecure", "--force", "-o", f"keys/{LEDGER}")
    assert status == 3 and "is the ledger of a secret key, which is never replaced" in said
    assert (tmp_path / "keys" / LEDGER).read_bytes() == before


def test_how_a_decryption_of_ckks_ends_does_not_depend_on_its_result(tmp_path, monkeypatch, recwarn):
    """Results that a server made up overflow in the owner's steps: no error, no warning, no other exit status."""
    torch = pytest.importorskip("torch")

    class Exponentials(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.softmax(torch.exp(torch.cat([x, x], -1) @ torch.eye(8)), -1)

    made = lw.compile(
        lw.from_torch(Exponentials(), torch.zeros(1, 4, dtype=torch.float64)), calibrate=np.ones((4, 1, 4)),
        ring_degree=1024, insecure=True, precision_bits=8,
    )  # fmt: skip
    client = made.client(threads=1)
    assert client.spec.owner.after
    keys = client.keygen()
    monkeypatch.chdir(tmp_path)
    client.save(tmp_path / "m.lwclient")
    keys.save(tmp_path / "keys")
    good = made.server(keys.public(), threads=1)(client.encrypt(np.ones((1, 4))))
    for outputs in (good, ruined(client, good)):
        with np.errstate(all="raise"):
            client.decrypt(outputs)
        outputs.save(tmp_path / "out.lwct")
        status, said = command("decrypt", "m.lwclient", "out.lwct", "--insecure", "--json")
        assert status == 0 and json.loads(said)["ok"]
        (tmp_path / "out.lwct").unlink()


def test_numbers_that_are_not_finite_are_null_in_json():
    value = OwnerValue(np.array([[np.nan, np.inf], [-np.inf, 1.5]]), np.inf)
    facts = json.loads(json.dumps(_facts(value, shown=True), allow_nan=False))
    assert facts["values"] == [[None, None], [None, 1.5]] and facts["error_bound"] is None


DIES = """
import os, signal, sys
from latticework import Client
client = Client.load("m.lwclient", threads=1, allow_insecure=True)
client.load_keys("keys")
outputs = client.load_encrypted("bad.lwct")
client._decryptors = [type("Dies", (), {"decrypt": lambda *_: os.kill(os.getpid(), signal.SIGKILL)})()]
client.decrypt(outputs)
"""


def test_clients_that_are_killed_have_used_up_a_refusal(session, tmp_path, start_python):
    client, keys, outputs = session
    client.save(tmp_path / "m.lwclient")
    keys.save(tmp_path / "keys")
    ruined(client, outputs).save(tmp_path / "bad.lwct")
    assert start_python(DIES, cwd=tmp_path).wait() == -signal.SIGKILL
    again = Client.load(tmp_path / "m.lwclient", threads=1, allow_insecure=True)
    again.load_keys(tmp_path / "keys")
    assert answers(again, again.load_encrypted(tmp_path / "bad.lwct"), 5) == ["refused"] * 3 + ["limit"] * 2
