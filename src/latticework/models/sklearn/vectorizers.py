"""Vectorizers of texts: the owner counts terms, before encryption."""

from __future__ import annotations

import numpy as np

from latticework.models.model_graph import Ref
from latticework.models.sklearn.cell_columns import Chain, emit_steps, need_cells
from latticework.models.sklearn.entries import EstimatorEntry
from latticework.models.sklearn.fitted_step import FittedStep, StepResult
from latticework.plan.client_steps import (
    Affine,
    HashedTerms,
    Labels,
    LogCounts,
    Normalise,
    OwnerArray,
    Terms,
    TextAnalysis,
)
from latticework.plan.client_steps.text_analysis import PATTERNS

VECTORIZERS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")
WIDE = 1 << 14  # columns that fill the slots of a large ring
_CODE = "makes terms by a function of its own, which may compute anything"


def _analysis(step: FittedStep) -> TextAnalysis:
    estimator = step.estimator
    kind = step.setting("analyzer", "word", "char", "char_wb", instead="count words or characters")
    for name in ("tokenizer", "preprocessor"):
        if getattr(estimator, name, None) is not None:
            step.refuse(f"its {name} {_CODE}", f"set {name}=None, and prepare texts before")
    accents = step.setting("strip_accents", None, "ascii", "unicode", instead="use one of these")
    step.setting("input", "content", instead="give texts, not files")
    pattern = estimator.token_pattern if kind == "word" else PATTERNS[0]
    if pattern not in PATTERNS:
        step.refuse(
            f"its token_pattern={pattern!r} is none of those that are known to end: clients read files that are not "
            "trusted, and some patterns take for ever",
            f"fit it with one of {', '.join(map(repr, PATTERNS[:5]))}",
        )
    stop = frozenset(estimator.get_stop_words() or ()) if kind == "word" else frozenset()
    if not all(isinstance(word, str) for word in stop):
        step.refuse("its stop words are no texts")
    least, most = estimator.ngram_range
    try:
        return TextAnalysis(kind, pattern, int(least), int(most), bool(estimator.lowercase), accents or "",
                            tuple(sorted(stop)))  # fmt: skip
    except ValueError as error:
        step.refuse(f"it takes texts apart in a way that is not known: {error}")


def _need_texts(step: FittedStep, x: Ref) -> None:
    if need_cells(step, x) != 1:
        step.refuse("it takes one column of texts, and is given several", "name one column for it")


def _terms(step: FittedStep) -> Terms:
    vocabulary = step.get("vocabulary_")
    if not isinstance(vocabulary, dict) or sorted(vocabulary.values()) != list(range(len(vocabulary))):
        step.refuse("its vocabulary_ does not number its terms from 0 on")
    analysis = _analysis(step)
    terms = sorted(vocabulary, key=vocabulary.__getitem__)
    if analysis.most == 1:  # else what is left out brings others together
        known = frozenset(terms)
        analysis = TextAnalysis(analysis.kind, analysis.pattern, 1, 1, analysis.lowers, analysis.accents,
                                tuple(word for word in analysis.stop_words if word in known))  # fmt: skip
    try:
        return Terms(Labels.of(terms), analysis, bool(step.estimator.binary))
    except ValueError as error:
        step.refuse(f"its vocabulary cannot be kept: {error}", "fit it with max_features=")


def count(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Counts of the terms of the vocabulary."""
    _need_texts(step, x)
    terms = _terms(step)
    return StepResult(emit_steps(step, x, (terms,), terms.width))


def _weigh(step: FittedStep, width: int) -> Chain:
    """The steps from counts to weights of terms."""
    steps: Chain = (LogCounts(),) if step.estimator.sublinear_tf else ()
    if step.estimator.use_idf:
        weights = step.array("idf_", width)
        steps = (*steps, Affine(OwnerArray.of(weights), OwnerArray.of(np.zeros(width))))
    return (*steps, *_norm(step))


def _norm(step: FittedStep) -> Chain:
    norm = step.setting("norm", None, "l1", "l2", instead="use one of these")
    return () if norm is None else (Normalise(norm),)


def count_and_weigh(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Counts, weighed by how rare terms are."""
    _need_texts(step, x)
    terms = _terms(step)
    return StepResult(emit_steps(step, x, (terms, *_weigh(step, terms.width)), terms.width))


def weights(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Counts that a step before made, or that are given, weighed by how rare terms are."""
    width = need_cells(step, x)
    return StepResult(emit_steps(step, x, _weigh(step, width), width))


def count_hashes(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Counts of terms by their hashes."""
    _need_texts(step, x)
    width = int(step.estimator.n_features)
    if not 1 <= width <= WIDE:
        step.refuse(
            f"it makes {width} columns, which are all encrypted for each text",
            f"fit it with n_features={WIDE} or fewer",
        )
    step_of = HashedTerms(width, _analysis(step), bool(step.estimator.alternate_sign), bool(step.estimator.binary))
    return StepResult(emit_steps(step, x, (step_of, *_norm(step)), width))


_TRANSFORM = ("transform",)
_NOTE = "the owner counts; analyzer and words by the usual patterns"
ENTRIES = [
    EstimatorEntry(("CountVectorizer",), _TRANSFORM, count, _NOTE),
    EstimatorEntry(("TfidfVectorizer",), _TRANSFORM, count_and_weigh, _NOTE),
    EstimatorEntry(("HashingVectorizer",), _TRANSFORM, count_hashes, f"{_NOTE}; at most {WIDE} columns"),
    EstimatorEntry(("TfidfTransformer",), _TRANSFORM, weights, "the owner weighs counts"),
]
