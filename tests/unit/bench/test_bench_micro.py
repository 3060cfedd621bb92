"""The micro suite: what is timed is right, and differences of two runs become rows."""

import pytest

from latticework import _core
from latticework.commands.benchmarks import suites

suites()  # puts the source tree on the path
from bench.micro import matmul  # noqa: E402
from bench.micro.cycles import Cycles, Measured  # noqa: E402
from bench.micro.fused import FEW, MANY, BabySteps, fused_rows  # noqa: E402
from bench.micro.kernels import SOURCES, kernel_rows  # noqa: E402


class Told(Cycles):
    """Reports what it is told instead of measuring, one after the other; what is timed runs once."""

    def __init__(self, *cycles):
        super().__init__()
        self.told = list(cycles)

    def measure(self, run, repeats, shortest=0.0):
        run(1)
        return Measured(1e-9 * self.told[0], self.told.pop(0))


def test_base_conversion_by_limb_is_what_further_targets_cost():
    start, target = 1000.0, 50.0  # cycles
    rows = list(kernel_rows(10, "ref", 1, ["base_convert"], 1, Told(start + 16 * target, start + 24 * target)))
    shown = {row.case.partition(",")[0]: row for row in rows if row.metric == "cycles per term"}
    assert list(shown) == ["base_convert", "base_convert to 24 limbs", "base_convert by limb"] and all(
        row.checked for row in rows
    )
    assert shown["base_convert by limb"].ours == pytest.approx(target / SOURCES / 2**10)


def test_sums_over_rotations_are_right_and_a_step_is_their_difference():
    macs = BabySteps(10, "auto", 1).macs
    assert macs == 10 * 20 * 2**10
    time, cycles = fused_rows(10, "auto", 1, 1, Told(7 * macs + FEW * macs, 7 * macs + MANY * macs))
    assert time.checked and cycles.checked
    assert cycles.ours == pytest.approx(1.0) and time.ours == pytest.approx(1e-3 * macs)


def test_wrong_sums_are_not_called_right():
    work = BabySteps(10, "auto", 1)
    assert work.is_right()
    work.factors[0] += 0.01
    assert not work.is_right()


@pytest.mark.skipif("cpu" not in _core.backend_names(), reason="cpu does not run here")
def test_products_of_matrices_are_right_and_shares_of_the_peak(monkeypatch):
    monkeypatch.setattr(matmul, "SIZE", 4)
    peak = _core.multiply_adds(_core.Ring(32, [193], backend="cpu"), matmul.PEAK_STEPS)
    rate = 4**2 * 2**matmul.LOG2_DEGREE
    shown = list(matmul.product_rows("cpu", 1, Told(2 * peak, 4 * rate, peak, peak, rate, 2 * peak)))
    assert all(row.checked for row in shown)
    assert [row.ours for row in shown] == pytest.approx([0.25, 0.25, 1.0, 1.0])
    assert [row.target for row in shown] == [None, matmul.LEAST_SHARE, None, None]
