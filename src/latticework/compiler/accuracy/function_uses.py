"""The functions of a program that polynomials stand in for, and what became of them."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from latticework.errors import RangeError
from latticework.errors.escaping import plain_text
from latticework.errors.remedies import CALIBRATE_APART
from latticework.frontend.recording.tracing import user_line
from latticework.functions.approximation.channel_curve import ChannelCurve
from latticework.functions.approximation.chebyshev import Interval
from latticework.functions.approximation.curve import Curve
from latticework.functions.approximation.exceedance import FEW, RangeSlack, find_slack, share_leaving
from latticework.functions.approximation.extreme_value import Tails
from latticework.functions.approximation.parabola_curve import ParabolaCurve
from latticework.functions.approximation.piecewise_linear_curve import PiecewiseLinearCurve
from latticework.functions.approximation.real_functions import Function, function_of
from latticework.functions.approximation.sign import CompositeSign
from latticework.functions.approximation.sign_curve import SignCurve
from latticework.ir import Loc, Module, Op
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.apply import APPLY
from latticework.values.packing.channel_square import Parabolas
from latticework.values.packing.packed_constants import Approximant

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The polynomial that one function became, and how good it is.

    interval   where the polynomial is close to the function; it may be far off outside
    max_error  largest |polynomial - function| on the interval
    has_given_degree  whether the user gave the degree
    needed     the degree that the precision asked for needs; None if none that is affordable does
    gap        of a comparison, whose argument has to keep this distance from 0;  told  another output tells where not
    is_sampled  max_error is the largest that was seen at points of a function that only its user knows
    form       what was taken instead of one polynomial, in words; "": one polynomial
    leaving    the estimated probability that a new input takes the argument out of the interval, or out of the part of
               it that its channel has a polynomial for; None: calibration has too few runs for an estimate from tails
    room       what the interval leaves beyond the ends that calibration reached; None: nothing is known of these, or
               the user states the interval
    """

    function: str
    loc: Loc
    interval: Interval
    degree: int
    max_error: float
    has_given_degree: bool = False
    needed: int | None = None
    form: str = ""
    leaving: float | None = None
    room: RangeSlack | None = field(default=None, compare=False)
    gap: float = 0.0
    told: bool = False
    is_sampled: bool = False


@dataclass(frozen=True)
class FunctionUse:
    """One place at which a program applies a function.

    given_degree  the degree that the user gave, if any
    """

    op: Op
    function: Function
    interval: Interval
    given_degree: int | None

    @cached_property
    def curve(self) -> Curve | PiecewiseLinearCurve | SignCurve:
        """The closest polynomials, or compositions of them."""
        if self.function.gap:
            with user_line(self.op.loc):
                return SignCurve(self.function.gap, self.interval)
        if self.function.pieces is not None:
            return PiecewiseLinearCurve(self.function.finite, self.function.pieces, self.interval)
        return Curve(self.function.finite, self.interval, smooth=self.function.smooth, data=self._data)

    @cached_property
    def given_curve(self) -> Curve | ChannelCurve:
        """The polynomials that `degree=` gives, drawn to where calibration data lie: of a function with kinks, and of
        any whose argument has other ranges in other channels, one for each of those."""
        channels = self.op.attrs["channels"]
        if channels is None:
            return self._curve_of_all
        return self.parabolas if channels.as_parabolas else ChannelCurve(self._curve_of_all, channels, self._tails)

    @cached_property
    def parabolas(self) -> ParabolaCurve:
        """A parabola for each channel, where there are channels."""
        return ParabolaCurve(self._curve_of_all, self.op.attrs["channels"], self._tails)

    @property
    def _tails(self) -> Tails | None:
        """Tails of calibration by channel."""
        tails = self.op.attrs["tails"]
        return tails[1] if tails else None

    @cached_property
    def _curve_of_all(self) -> Curve:
        samples = self.op.attrs["samples"]
        data = None if samples is None else np.array(samples)
        made = None if self.function.smooth else lambda d: self.function.approximate(self.interval, d, data)
        breakpoints = () if self.function.pieces is None else self.function.pieces.inside(self.interval).places
        return Curve(
            self.function.finite,
            self.interval,
            made,
            smooth=self.function.smooth,
            breakpoints=breakpoints,
            data=self._data,
        )

    def polynomial(self, degree: int) -> Approximant | CompositeSign:
        """The one of this degree: as given, or chosen."""
        return self._curve.polynomial(degree)

    def error(self, degree: int) -> float:
        """Its largest distance from the function."""
        return self._curve.error(degree)

    def bound(self, degree: int) -> float:
        """Return a proved bound of that distance; of a function that was sampled, the largest distance seen."""
        lipschitz, curve = self.function.lipschitz, self._curve
        if not lipschitz or not isinstance(curve, Curve):
            return self.error(degree)
        with user_line(self.op.loc):
            try:
                return curve.bound(degree, lipschitz)
            except RangeError as error:
                raise RangeError(f"{self.function.name}: {error.message}") from None

    def is_sampled(self, degree: int) -> bool:
        """Whether nothing is proved of that distance: of a user's function, by the slope of which it is not bounded."""
        return self.function.is_sampled or (self.function.unknown and not isinstance(self._curve, Curve))

    def estimate(self, degree: int) -> float:
        """Approximate error at a degree, for choosing among degrees."""
        return self._curve.estimate(degree)

    def leaving(self, degree: int) -> float | None:
        """The estimated probability that a new input leaves where the polynomial of this degree is close."""
        tails, curve = self.op.attrs["tails"], self._curve
        if not tails:
            return None
        whole, by_channel = tails
        result: float | None
        if by_channel is not None and isinstance(curve, ChannelCurve) and curve.is_by_channel(degree):
            result = by_channel.leaving(curve.ranges)
        else:
            result = whole.leaving([self.interval])
        if result is not None and self.room is not None and self.room.runs < FEW:
            result = max(result, share_leaving([self.room]))
        return result

    @cached_property
    def room(self) -> RangeSlack | None:
        """The part of the interval beyond the ends that calibration reached; None if they are not known."""
        tails = self.op.attrs["tails"]
        if not tails or tails[0].extremes is None:
            return None
        extremes = tails[0].extremes
        scale = self.function.scale(extremes.lowest[0][0], extremes.highest[0][0])
        return find_slack(extremes, self.interval, scale)

    @property
    def seen(self) -> Interval | None:
        """The range of the argument in calibration; None if it is not known."""
        tails = self.op.attrs["tails"]
        return (tails[0].lowest[-1][0], tails[0].highest[-1][0]) if tails else None

    def is_by_channel(self, degree: int) -> bool:
        """Whether channels have polynomials of their own, of this degree."""
        curve = self._curve
        return isinstance(curve, ChannelCurve) and curve.is_by_channel(degree)

    @property
    def _data(self) -> tuple[float, ...] | None:
        """Arguments of a function of which only values are known, as calibration saw them."""
        return (self.op.attrs["samples"] or ()) if self.function.unknown else None

    @property
    def highest(self) -> int:
        """The highest degree that there is."""
        return (1 << self.curve.most_levels) - 1

    def free(self) -> FunctionUse:
        """The same as if no degree were given, for degrees to speak of."""
        result, curve = replace(self, given_degree=None), self.curve
        result.__dict__["curve"] = curve.rough() if isinstance(curve, Curve) else curve  # with what is known
        return result

    @property
    def _curve(self) -> Curve | PiecewiseLinearCurve | SignCurve | ChannelCurve:
        return self.curve if self.given_degree is None else self.given_curve

    def __str__(self) -> str:
        return f"{plain_text(self.function.name)} on [{self.interval[0]:.4g}, {self.interval[1]:.4g}]"


@dataclass(frozen=True)
class StandIn:
    """One function, and the polynomials that stand in for it, one after the other.

    degree  of the polynomial, or that the composition of several counts as (`FunctionUse.polynomial`)
    """

    use: FunctionUse
    stages: tuple[Approximant, ...]
    degree: int

    @property
    def levels(self) -> int:
        """Levels that it is counted to spend."""
        return 1 if isinstance(self.stages[0], Parabolas) else self.degree.bit_length()


@dataclass(frozen=True)
class ApproximatedProgram:
    """A program whose functions are polynomials.

    fitted      one record per function, in program order
    shifts      of every output, how far the polynomials move an element at most, on calibration data
    effects     the same for inputs like those of calibration: what the largest errors can do
    magnitudes  largest element of every output in calibration
    stand_ins   the functions themselves, and the polynomials that took their places
    is_lossy    whether degrees that the user gave take more than functions may
    """

    module: Module
    fitted: list[Fitted]
    shifts: FloatArray
    effects: FloatArray
    magnitudes: FloatArray
    is_lossy: bool
    stand_ins: tuple[StandIn, ...] = ()


def uses_of(module: Module) -> list[FunctionUse]:
    """All of a calibrated module, in order.

    raises  RangeError if a range is missing: neither range= nor calibration data were given
    """
    return [_use(op) for op in module.walk() if op.spec is APPLY.spec]


def _use(op: Op) -> FunctionUse:
    function = function_of(op.attrs["function"])
    if op.attrs["interval"] is None:
        raise RangeError(
            f"{function.name}: the range of its argument is not known; "
            + (
                f"give {CALIBRATE_APART} to compile"
                if function.told
                else f"pass calibrate=data to compile, or give it here: {function.example_call()}"
            ),
            at=op.loc,
        )
    return FunctionUse(op, function, op.attrs["interval"], op.attrs["degree"])
