"""What may be believed of a result: bounds under both keys, values beyond calibration, mixed compilations."""

import math

import numpy as np
import pytest

import latticework as lw
from latticework.errors import ParameterMismatchError, SecurityError
from latticework.runtime.exchange.decrypted import OwnerValue, of_one_run

SMALL = {"ring_degree": 2048, "insecure": True}
DATA = np.random.default_rng(0).uniform(-1, 1, (200, 32))


@lw.program
def total(x: lw.Secret[32]):
    return np.sum(x) ** 2


@lw.program
def cube(x: lw.Secret[32]):
    return x * x * x + 0.5


@pytest.mark.parametrize("public", [False, True], ids=["secret key", "public key"])
def test_errors_stay_within_the_bound_under_either_key(public):
    model = lw.compile(cube, calibrate=DATA, precision_bits=14, **SMALL)
    client = model.client(threads=1)
    keys = client.keygen()
    sender = model.client(threads=1)
    (sender.use_public_key if public else sender.use_secret_key)(keys.public().encryption if public else keys._secret)
    server = model.server(keys.public(), threads=1)
    for x in DATA[:10]:
        value = client.decrypt(server(sender.encrypt(x)))
        error = np.abs(value.reveal() - cube(x)).max()
        assert error <= value.usual_error <= value.error_bound and value.usual_error <= 2.0**-14 * 1.5


def test_what_accepted_inputs_can_reach_fits_and_is_bounded():
    """All ones is accepted element by element, and gives far more than any calibration sample."""
    model = lw.compile(total, calibrate=DATA, **SMALL)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    usual = client.decrypt(server(client.encrypt(DATA[0])))
    assert math.isfinite(usual.error_bound) and "LARGER" not in repr(usual)
    beyond = client.decrypt(server(client.encrypt(np.ones(32))))
    assert beyond.is_proved and abs(beyond.reveal() - 1024) <= beyond.error_bound < 1.0


WEIGHTS = np.where(np.arange(32) % 3, 1.0, 0.9)


def squashed(x: lw.Secret[32]):
    return lw.tanh(np.sum(x * WEIGHTS))  # a product with weights, which no client checks


@pytest.mark.parametrize("function", [total, lw.program(squashed)], ids=["proved", "not proved"])
def test_results_larger_than_the_program_was_made_for_are_marked(function):
    """Beyond what accepted inputs can give, or twice calibration's largest where that is not known."""
    model = lw.compile(function, calibrate=DATA, **SMALL)
    coding, (output,) = model.client(threads=1)._coding, model.plan.client.outputs
    most = 2 * output.magnitude if output.reach is None else output.reach
    assert (output.reach is None) == (function is not total)
    within, beyond = (coding.value(output, [np.full(output.pack.slots, most + output.error_bound * part)])
                      for part in (0.5, 1.5))  # fmt: skip
    assert within.error_bound == output.error_bound and within.is_proved == (function is total)
    assert ("like those of calibration only" in repr(within)) == (function is not total)
    assert beyond.error_bound == math.inf and "LARGER THAN THE PROGRAM WAS MADE FOR" in repr(beyond)


def test_a_result_too_large_puts_those_beside_it_in_doubt():
    """What was too large on the way may have gone on as a small number, in any result that is not proved."""
    small, proved = (OwnerValue(np.ones(2), 0.1, usual_error=0.05, is_followed=p) for p in (False, True))
    large = OwnerValue(np.full(2, 99.0), math.inf, usual_error=0.05, is_followed=False)
    kept, doubted = of_one_run([small, proved]), of_one_run([small, large, proved])
    assert [v.error_bound for v in kept] == [0.1, 0.1]
    assert [v.error_bound for v in doubted] == [math.inf, math.inf, 0.1]
    assert [v.is_proved for v in doubted] == [False, False, True]
    assert np.array_equal(doubted[0].reveal(), small.reveal()) and doubted[0].usual_error == 0.05
    assert "beside a result that is" in repr(doubted[0])


def test_ciphertexts_of_another_compilation_are_refused():
    """Same program, same primes, other ranges: the client's checks would have been those of the other."""
    narrow = lw.compile(total, calibrate=DATA, **SMALL)
    wide = lw.compile(total, calibrate=DATA * 1.001, **SMALL)
    assert narrow.plan.chain == wide.plan.chain
    client = wide.client(threads=1)
    server = narrow.server(client.keygen().public(), threads=1)
    with pytest.raises(ParameterMismatchError, match="another compilation of program total.*one compilation"):
        server(client.encrypt(DATA[0]))


def test_insecure_parameters_of_files_need_a_word_on_every_way_to_keys(tmp_path):
    model = lw.compile(total, calibrate=DATA, **SMALL)
    owner = model.client(threads=1)
    owner.save(tmp_path / "program.lwclient")
    model.save(tmp_path / "program.lwplan")
    loaded = lw.load(tmp_path / "program.lwplan")
    for way in (
        lambda: lw.Client.load(tmp_path / "program.lwclient"),
        lambda: lw.Client.load(tmp_path / "program.lwplan"),
        lambda: lw.Client(model.plan.client),
        lambda: loaded.client(),
        lambda: loaded.client(keys=owner.keygen()),
        lambda: loaded.debug(DATA[0]),
    ):
        with pytest.raises(SecurityError, match=r"total has INSECURE.*N=2048.*allow_insecure"):
            way()
    for client in (
        lw.Client.load(tmp_path / "program.lwclient", allow_insecure=True),
        loaded.client(allow_insecure=True),
        lw.load(tmp_path / "program.lwplan", allow_insecure=True).client(),
    ):
        assert client.spec == model.plan.client
    assert loaded.debug(DATA[0], client=owner).first_off is None


def test_parameters_taken_over_from_a_loaded_insecure_model_need_a_word(tmp_path):
    @lw.circuit
    def double(a: lw.scalar(low=-1, high=1)):
        return a + a

    first = lw.compile(double, ring_degree=1024, insecure=True)
    first.save(tmp_path / "first.lwplan")
    loaded = lw.load(tmp_path / "first.lwplan")
    with pytest.raises(SecurityError, match="INSECURE"):
        lw.compile(double, like=loaded, precision_bits=8).client()
    lw.compile(double, like=loaded, precision_bits=8, insecure=True).client(threads=1)
    shared = lw.compile(double, like=first, precision_bits=8)
    client = shared.client(threads=1)
    server = shared.server(client.keygen().public(), threads=1)
    result = client.decrypt(server(client.encrypt(0.5)))  # on vectors that fit the ring
    assert abs(float(result.reveal()) - 1.0) <= result.error_bound


def test_inputs_and_values_far_larger_than_the_outputs_are_debugged_right():
    @lw.program
    def normalised(x: lw.Secret[8]):
        z = x / 1000
        return z * z

    data = np.random.default_rng(1).uniform(-1000, 1000, (50, 8))
    model = lw.compile(normalised, calibrate=data, **SMALL)
    assert model.debug(data[0]).first_off is None
