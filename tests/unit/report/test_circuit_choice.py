"""Lanes, scalar code or arrays: what is predicted to be fastest, sending included; the record says what it took."""

import numpy as np
import pytest

import latticework as lw
from latticework.report.sections.circuit_section import way_table

FAST, SLOW = 1e12, "wan"  # networks


def blur(kind=lw.matrix, **options):
    def blur_of(image):
        rows = range(len(image) - 1)
        return [[image[r, c] + image[r, c + 1] + image[r + 1, c] + image[r + 1, c + 1] for c in rows] for r in rows]

    blur_of.__annotations__ = {"image": kind(4, 4, low=0, high=9, **options)}
    return lw.circuit(blur_of)


def compiled(circuit, **options):
    return lw.compile(circuit, scheme="bfv", plain_bits=20, ring_degree=8192, effort="fast", **options)


def ciphertexts(model):
    return sum(given.pack.count for given in model.plan.client.secret_inputs)


def test_sums_are_computed_one_by_one_where_sending_is_next_to_free():
    model = compiled(blur(), network=FAST)
    assert model.plan.circuit.method == "apart" and ciphertexts(model) == 16
    assert model.plan.circuit.vector.rotations == 0
    client = model.client()
    server = model.server(client.keygen().public())
    image = np.random.default_rng(0).integers(0, 10, (4, 4))
    want = image[:-1, :-1] + image[:-1, 1:] + image[1:, :-1] + image[1:, 1:]
    assert (np.array(client.decrypt(server(client.encrypt(image=image))).reveal()) == want).all()


@pytest.mark.parametrize("network", ["lan", SLOW])
def test_what_the_client_sends_counts(network):
    model = compiled(blur(), network=network)
    ways = {way.name: way for way in model.plan.circuit.ways}
    assert model.plan.circuit.method == "search" and ciphertexts(model) == 1
    apart, search = ways["apart"], ways["search"]
    assert apart.seconds - apart.sending < search.seconds - search.sending  # the run alone is faster
    assert apart.sending > 10 * search.sending and apart.seconds > search.seconds
    assert search.chosen and sum(way.chosen for way in ways.values()) == 1


def test_reports_say_what_sending_takes():
    model = compiled(blur())
    rows = way_table(model.plan.circuit).rows
    assert [row[0] for row in rows if row[-1]] == ["schedule found by search"]
    text = model.schedule()
    assert "numbers sent one by one" in text and "sending" in text
    assert "of that sending" in model.report().html()


def test_scalar_code_may_be_asked_for():
    slow, fast = (compiled(blur(), network=network, algorithm="scalar") for network in (SLOW, FAST))
    assert (slow.plan.circuit.method, ciphertexts(slow)) == ("scalar", 1)
    assert (fast.plan.circuit.method, ciphertexts(fast)) == ("apart", 16)
    assert compiled(blur(), network=FAST, algorithm="annealing").plan.circuit.method == "annealing"


def test_numbers_that_have_to_share_a_ciphertext_do():
    @lw.circuit
    def grouped(a: lw.vector(3, group="one"), b: lw.vector(3, group="one")):
        return [a[0] + b[2], a[1] + a[2] + b[0]]

    for circuit in (grouped, blur(lanes=np.arange(16))):
        for algorithm in ("search", "scalar"):
            model = compiled(circuit, network=FAST, algorithm=algorithm)
            assert ciphertexts(model) == 1
    assert ciphertexts(compiled(blur(), network=FAST, algorithm="scalar", spare_levels=1)) == 1


def test_real_numbers_are_priced_alike():
    chosen = [
        lw.compile(blur(), precision_bits=12, effort="fast", network=network).plan.circuit for network in (FAST, "lan")
    ]
    assert [found.method for found in chosen] == ["apart", "search"]
    assert all(way.sending > 0 for found in chosen for way in found.ways)
