"""Results that are inputs of the next run, still encrypted: which output is which input, and what becomes of errors.

An input that is fed is off by the error of the run before. How far that moves results follows from first differences,
on calibration samples and on what these are after more runs. Wanted is the largest change that errors of any signs can
make, a sum of magnitudes of derivatives. For inputs of few elements each is moved by itself; of others, what
independent Cauchy numbers as errors change has that sum as its scale, which is the median of magnitudes.
Source: Indyk, Stable distributions, pseudorandom generators, embeddings, and data stream computation (J. ACM 53, 2006).
Cost: `RUNS` runs a sample, and `PROBES` for each input that is fed on some of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.assemble import accepted_ranges
from latticework.compiler.stage_results import Vectors
from latticework.errors import RangeError, ShapeError, TraceError, UserError
from latticework.errors.shown import count_noun
from latticework.frontend import Program
from latticework.frontend.calibration.calibration_data import Sample, affordable_samples, choose_evenly
from latticework.ir import Module, interpret
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.plan.schema.feedback_limits import FeedbackLimits

RUNS = 16  # one after the other, that samples are followed through
SAMPLES = 16
PROBES = 32  # changes of an input
STEP = 2.0**-24  # of the range of an input, by which it is changed
MARGIN = 1.25  # times the largest change in these samples, for other inputs like them
FloatArray = npt.NDArray[np.float64]


def find_feedback(program: Program, module: Module, feed: Any) -> Mapping[int, int]:
    """Numbers of outputs -> numbers of inputs, of {input: output} by name.

    raises  TraceError for names that are none, or an output that is two inputs; ShapeError for other shapes
    """
    if feed is None:
        return {}
    if not isinstance(feed, Mapping):
        raise UserError(
            f"compile: feed= is a {type(feed).__name__}; give a dictionary of inputs and the results that they are in "
            "the next run, such as {'w': 'result'}",
            at=program.loc,
        )
    secret = [name for name, v in zip(module.input_names, module.inputs, strict=True) if isinstance(v.type, TensorType)]
    numbers: dict[int, int] = {}
    for name, output in feed.items():
        if name not in secret or output not in module.outputs:
            raise TraceError(
                f"compile: feed= makes {output!r} the input {name!r}; encrypted inputs of program {program.name} are "
                f"{', '.join(secret) or 'none'}, results {', '.join(module.outputs)}",
                at=program.loc,
            )
        of, number = module.input_names.index(name), module.outputs.index(output)
        if number in numbers:
            raise TraceError(f"compile: feed= makes {output!r} two inputs; return it twice", at=program.loc)
        shapes = module.inputs[of].type.shape, module.body.terminator.operands[number].type.shape  # type: ignore[attr-defined]
        if shapes[0] != shapes[1]:
            raise ShapeError(
                f"compile: feed= makes {output!r} of shape {shapes[1]} the input {name!r} of shape {shapes[0]}",
                at=program.loc,
            )
        numbers[number] = of
    return numbers


def later_samples(
    program: Program, module: Module, samples: Sequence[Sample], feedback: Mapping[int, int], runs: int
) -> list[Sample]:
    """Return the inputs of the runs after the first of `runs`, from some of the samples on.

    raises  UserError for runs of a program that is not fed, RangeError where results grow beyond all numbers
    """
    if runs < 1 or (runs > 1 and not feedback):
        advice = "give 1 or more" if feedback else "say by feed= which results are inputs of the next run"
        raise UserError(f"compile: feed_runs={runs}; {advice}", at=program.loc)
    if runs == 1:
        return []
    names = {module.input_names[of]: number for number, of in feedback.items()}
    result: list[Sample] = []
    for i in choose_evenly(len(samples), affordable_samples(module, samples[0], SAMPLES)):
        sample = samples[i]
        for run in range(1, runs):
            with np.errstate(all="ignore"):
                outputs = interpret(module, sample)
            sample = _next_inputs(sample, outputs, names)
            if not all(np.isfinite(sample[name]).all() for name in names):
                raise RangeError(
                    f"compile: feed_runs={runs}: after {count_noun(run, 'run')} of the calibration data, the results "
                    f"{', '.join(module.outputs[n] for n in feedback)} are beyond all numbers; give fewer runs, or "
                    "data for which they stay small",
                    at=program.loc,
                )
            result.append(sample)
    return result


def follow_feedback(vectors: Vectors, samples: Sequence[Sample], num_given: int | None) -> FeedbackLimits | None:
    """Analyse how many runs may follow each other, and how errors of fed inputs grow; None without encrypted feedback.

    num_given  samples that the first run may have; the others are inputs of later ones
    """
    placed = vectors.placed
    if not vectors.feedback:
        return None
    sources = {
        placed.input_names[of]: number for number, of in sorted(vectors.feedback.items(), key=lambda pair: pair[1])
    }
    accepted = accepted_ranges(placed, list(samples), vectors.stated)
    steps = {name: STEP * (accepted[name][1] - accepted[name][0]) for name in sources}
    starts = [
        samples[i] for i in choose_evenly(num_given or len(samples), affordable_samples(placed, samples[0], SAMPLES))
    ]
    runs, ends = RUNS, list[Sample]()
    with np.errstate(over="ignore", invalid="ignore"):
        for sample in starts:
            followed = list(_follow(placed, sample, sources, accepted, runs))
            runs = len(followed)
            ends.append(followed[-1])
        some = choose_evenly(len(starts), max(1, len(starts) // 2))
        points = [each[i] for each in (starts, ends) for i in some]
        changes = [[largest_changes(placed, p, name, step) for p in points] for name, step in steps.items()]
        gains = np.max(changes, axis=1)
    if not np.isfinite(gains).all():
        runs, gains = 1, np.zeros_like(gains)
    return FeedbackLimits(runs, tuple(sources.values()), tuple(map(tuple, (MARGIN * gains.T).tolist())))


def _next_inputs(sample: Sample, outputs: Sequence[Any], sources: Mapping[str, int]) -> Sample:
    """The inputs of a next run."""
    return {**sample, **{name: np.asarray(outputs[number], dtype=np.float64) for name, number in sources.items()}}


def _follow(
    placed: Module,
    sample: Sample,
    sources: Mapping[str, int],
    accepted: Mapping[str, tuple[float, float]],
    runs: int,
) -> Iterator[Sample]:
    """Return the inputs of up to `runs` runs, while they lie in the ranges that clients accept."""
    yield sample
    for _ in range(runs - 1):
        sample = _next_inputs(sample, interpret(placed, sample), sources)
        if not all(low <= np.min(sample[name]) and np.max(sample[name]) <= high
                   for name, (low, high) in accepted.items() if name in sources):  # fmt: skip
            return
        yield sample


def largest_changes(placed: Module, sample: Sample, name: str, step: float) -> FloatArray:
    """Estimate the largest error of an element of each output, for each unit of error in the elements of an input."""
    given = np.asarray(sample[name], dtype=np.float64)
    is_small = given.size <= PROBES
    probes = np.eye(given.size) if is_small else np.random.default_rng(0).standard_cauchy((PROBES, given.size))
    exact = interpret(placed, sample)
    moved = [interpret(placed, {**sample, name: given + step * probe.reshape(given.shape)}) for probe in probes]
    changes = []
    for number, value in enumerate(exact):
        slopes = np.stack([np.abs(outputs[number] - value) for outputs in moved]) / step
        changes.append(np.max(np.sum(slopes, axis=0) if is_small else np.median(slopes, axis=0), initial=0.0))
    return np.array(changes)
