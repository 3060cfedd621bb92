"""Programs that are right only under conditions say so: comparisons, slices, few calibration rows, functions of users."""

import re
import warnings
from collections import Counter

import numpy as np
import pytest
from adversaries import adversaries
from conditional_programs import KINDS, draw, near_rows

import latticework as lw

WARNED_FROM = 0.1  # docs/precision.md: from one input in ten on, compile warns


def compiled(case):
    """The model, and the share of inputs that a warning, or its absence, says may be wrong."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = lw.compile(case.program, calibrate=case.data, precision_bits=8, ring_degree=4096, insecure=True)
    warned = [w for w in caught if issubclass(w.category, lw.ApproximationWarning)]
    stated = [float(found[1]) for w in warned if (found := re.search(r"about 1 in ([\d.]+) inputs", str(w.message)))]
    return model, warned, max([WARNED_FROM, *(1.0 / each for each in stated)])


def results(case, model, client, server, x):
    """Of one row: error, bound, whether proved, whether certain, for each output; none if the client refuses it."""
    try:
        sent = client.encrypt(x)
    except lw.UserError:
        return []
    values, wanted = client.decrypt(server(sent)), case.program(x)
    pairs = zip(values, wanted, strict=True) if isinstance(values, tuple) else [(values, wanted)]
    told = []
    for value, want in pairs:
        error = np.abs(value.reveal() - want)
        limit = value.error_bound + 1e-9 * np.max(np.abs(want), initial=0.0)
        certain = np.broadcast_to(value.is_certain, error.shape)
        told.append(
            (bool((error > limit).any()), value.is_proved, bool(certain[error > limit].any()), float(error.max()))
        )
    return told


def check(seed, seen):
    """One program: nothing that is called proved or certain is beyond its bound; counts of the others."""
    case = draw(seed)
    try:
        model, warned, share = compiled(case)
    except lw.UserError as error:
        seen[f"refused: {type(error).__name__}"] += 1
        return 0, 0, 0.0
    client = model.client(threads=1, allow_insecure=True)
    server = model.server(client.keygen().public(), threads=1)
    (spec,) = model.plan.client.secret_inputs
    rng = np.random.default_rng(seed)
    beyond = accepted = 0
    for x in case.fresh:
        told = results(case, model, client, server, x)
        accepted += bool(told)
        beyond += any(off for off, *_ in told)
        for off, proved, certain, error in told:
            became = "fresh: " + ("held" if not off else "beyond") + (", proved" if proved else "")
            seen[became] += 1
            assert not (off and (proved or certain)), (case.name, x, error)
    for x in [
        *adversaries(spec, rng, case.data[0]),
        *near_rows(case, np.maximum(spec.low, -9), np.minimum(spec.high, 9), rng),
    ]:
        for off, proved, certain, error in results(case, model, client, server, x):
            seen["worst: " + ("held" if not off else "beyond") + (", proved" if proved else "")] += 1
            assert not (off and (proved or certain)), (case.name, x, error)
            assert not (off and case.gap) or warned, (case.name, "no warning")
    return beyond, accepted, share * accepted


@pytest.mark.parametrize("seed", range(len(KINDS)))
def test_what_is_proved_or_certain_is_within_its_bound(seed):
    check(seed, Counter())


@pytest.mark.slow
def test_5000_results_are_right_or_told(capsys):
    seen, beyond, expected, accepted, seed = Counter(), 0, 0.0, 0, 0
    while sum(n for what, n in seen.items() if what.startswith(("fresh", "worst"))) < 5000:
        off, taken, share = check(seed, seen)
        beyond, accepted, expected, seed = beyond + off, accepted + taken, expected + share, seed + 1
    with capsys.disabled():
        print(
            f"\n{seed} programs: {dict(sorted(seen.items()))}; of {accepted} fresh rows {beyond} beyond, {expected:.0f} stated"
        )
    assert beyond <= expected
