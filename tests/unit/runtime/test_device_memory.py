"""Memory of a device: what is kept for the next run, what is given back, and that blocks are never shared."""

import gc
import os
import threading

import numpy as np
import pytest
from plan_assembler import Assembler, Last, cipher
from rlwe_cases import make_case, plain_parameters, random_slots, shared_case

from latticework import _core

returns_memory = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer keeps freed memory for a while"
)

TOP, SLOTS = 4, 64
PAGE, KEPT_ANYWAY = 2 << 20, 256 << 20
pooled = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="nothing is kept, so that a use after release is found"
)


def used(context):
    """The figures, after they were found to fit together."""
    use = context.memory
    assert use.held == use.fresh - use.returned
    assert use.idle % PAGE == 0 and use.idle + context.live_bytes <= use.held
    return use


@pytest.fixture(scope="module")
def large():
    """A parameter set in which a ciphertext takes 2.6 MB."""
    return make_case(plain_parameters(1 << 15))


def wide_sum(case, count, **options):
    """Adds up `count` negated copies of a ciphertext, all alive at once."""
    a = Assembler()
    array = [*cipher(TOP), count]
    b = a.block(cipher(TOP))
    copies = b.op("concat", [b.args[0]] * count, array)
    negated = b.op("neg", [Last(copies)], array)
    b.yield_(b.op("sum", [Last(negated)], cipher(TOP), 1))
    return _core.Executor(case.context, a.plan(case.parameters), case.keys, **options)


@pooled
def test_the_next_run_gets_no_new_memory_and_the_budget_says_how_much_stays(large):
    """Far more than a device keeps anyway: kept within the budget of an executor, and no longer than that lives."""
    x, count = large.encrypt(np.ones(SLOTS)), 128
    need = (count + 2) * x.num_bytes  # x, the copies, the sum
    assert need > KEPT_ANYWAY
    executor = wide_sum(large, count, constant_budget_bytes=1 << 30)
    first = executor.run([x])
    assert need - x.num_bytes <= executor.kept_bytes <= 1.1 * need
    fresh = used(large.context).fresh
    np.testing.assert_allclose(large.decryptor.decrypt(executor.run([x])[0]), -count, atol=1e-3)
    assert used(large.context).fresh == fresh
    assert used(large.context).idle > KEPT_ANYWAY
    del executor, first
    gc.collect()
    assert used(large.context).idle <= KEPT_ANYWAY

    poor = wide_sum(large, count, constant_budget_bytes=40 << 20)
    poor.run([x])
    assert poor.kept_bytes == 40 << 20
    assert used(large.context).idle <= KEPT_ANYWAY + (40 << 20)


@pooled
def test_within_a_run_freed_memory_stays_up_to_its_peak(large):
    """Without a budget, too: it is got once, not once for each time that it is needed; after the run it is given back."""
    x, count = large.encrypt(np.ones(SLOTS)), 128
    array = [*cipher(TOP), count]
    a = Assembler()
    b = a.block(cipher(TOP))
    total = b.args[0]
    for _ in range(4):
        negated = b.op("neg", [Last(b.op("concat", [total] * count, array))], array)
        total = b.op("sum", [Last(negated)], cipher(TOP), 1)
    b.yield_(total)
    executor = _core.Executor(large.context, a.plan(large.parameters), large.keys, constant_budget_bytes=0)
    before = used(large.context)
    executor.run([x])
    after = used(large.context)
    assert count * x.num_bytes - before.idle <= after.fresh - before.fresh <= 1.1 * (count + 4) * x.num_bytes
    assert after.idle <= KEPT_ANYWAY


@returns_memory
def test_a_smaller_run_gives_back_what_it_does_not_need(large):
    """What stays follows the last run of each executor."""
    x = large.encrypt(np.ones(SLOTS))
    a = Assembler()
    b = a.block(cipher(TOP), ["index"])
    body = a.block(["index"], cipher(TOP))
    copies = body.op("concat", [body.args[1]] * 120, [*cipher(TOP), 120])
    body.yield_(body.op("sum", [body.op("neg", [Last(copies)], [*cipher(TOP), 120])], cipher(TOP), 1))
    b.yield_(*b.emit("for", [b.args[1], b.args[0]], [cipher(TOP)], (body.number, 1)))
    executor = _core.Executor(large.context, a.plan(large.parameters), large.keys)
    executor.run([x, 1])
    assert executor.kept_bytes > 100 * x.num_bytes
    executor.run([x, 0])
    assert executor.kept_bytes < 4 * x.num_bytes
    assert used(large.context).idle <= KEPT_ANYWAY + 4 * x.num_bytes


@pooled
@pytest.mark.parametrize("backend", ["ref", "auto"])
def test_blocks_of_all_sizes_do_not_overlap(backend):
    """Plaintexts of many sizes come and go in any order; what is still held decrypts to what was encoded."""
    rng = np.random.default_rng(5)
    case = make_case(plain_parameters(1 << 12), backend=backend)
    held, most = {}, 0
    for turn in range(600):
        if held and rng.random() < 0.45:
            del held[rng.choice(list(held))]
        else:
            values = random_slots(rng, SLOTS)
            level = int(rng.integers(TOP + 1))
            held[turn] = values, case.encoder.encode(values, (0, level), 2.0**40)
        most = max(most, case.context.live_bytes)
        use = used(case.context)
    for values, plain in held.values():
        decoded = case.decryptor.decrypt(case.evaluator.trivial(plain))
        np.testing.assert_allclose(decoded, values, atol=1e-6)
    assert use.held < 1.5 * most + (64 << 20) and use.returned == 0


def test_threads_that_allocate_at_once_leave_the_accounts_in_order():
    case = shared_case("plain")
    live = case.context.live_bytes
    x = case.encrypt(np.ones(SLOTS))
    wrong = []

    def work(x, size):
        for _ in range(200):
            y = case.evaluator.neg(case.evaluator.add(x, x))
            if y.num_bytes != size:
                wrong.append(y)

    threads = [threading.Thread(target=work, args=(x, x.num_bytes)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del x, threads, thread
    assert not wrong and case.context.live_bytes == live
    used(case.context)


def mapped_bytes():
    """Address space of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * 4096


@returns_memory
def test_a_context_that_is_gone_has_given_back_everything():
    """Contexts of 64 MB one after the other leave no address space behind."""
    parameters = plain_parameters(1 << 12)

    def use():
        context = _core.Context(parameters)
        encoder = _core.Encoder(context)
        kept = [encoder.encode(np.ones(SLOTS), (0, TOP), 2.0**40) for _ in range(300)]
        assert used(context).held > 32 << 20
        return len(kept)

    use()
    before = mapped_bytes()
    for _ in range(4):
        use()
    gc.collect()
    assert mapped_bytes() - before < 32 << 20
