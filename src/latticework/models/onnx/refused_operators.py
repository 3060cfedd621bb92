"""Operators of ONNX that are refused, by the concept whose remedy they share, and how a graph is cut around them."""

from __future__ import annotations

from latticework.errors.remedies import Remedy, name_remedies
from latticework.models.client_rules.classes import CLASS_STEPS

CUT_BEHIND = "cut the graph behind it with inputs=[...]"
LEAVE_CLASS_OUT = "leave it out with outputs=[...], naming the scores, and take the largest after decryption"
APPLY_AFTER = "export it with post_transform=NONE, and apply it after decryption"
_AFTER: dict[str, str] = {  # what may be done after decryption
    "place": "Hardmax",
    "set": "Unique",
    "selection": "NonMaxSuppression",
    "determinant": "Det",
    "fourier": "DFT STFT",
}
_WHOLE: dict[str, str] = {
    "random": "RandomNormal RandomUniform RandomNormalLike RandomUniformLike Multinomial Bernoulli",
    "training": "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
    "sequence": "SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap "
    "ConcatFromSequence SplitToSequence Optional OptionalGetElement OptionalHasElement",
}
_BEFORE: dict[str, str] = {  # what may be done before encryption
    "text": "StringNormalizer com.microsoft.Tokenizer TfIdfVectorizer StringConcat StringSplit RegexFullMatch",
    "category": "ai.onnx.ml.CastMap ai.onnx.ml.DictVectorizer",
}


def cut_before(output: str | None = None) -> str:
    """Advice to cut the graph before an operator, whose operand is `output`."""
    return f"cut the graph before it with outputs=[{'...' if output is None else repr(output)}]"


NAMES = _AFTER | _WHOLE | _BEFORE
_VECTORIZERS = "give the fitted pipeline to lw.from_sklearn, whose vectorizers the owner computes"
_CLASS = Remedy(
    "a class is a step, which no polynomial follows, and what is made of it cannot be its owner's", LEAVE_CLASS_OUT
)
REMEDIES = {
    **dict.fromkeys(CLASS_STEPS, _CLASS),
    **{name: remedy.add(cut_before()) for name, remedy in name_remedies(_AFTER).items()},
    **name_remedies(_WHOLE),
    **{
        name: remedy.add(f"{CUT_BEHIND}; or {_VECTORIZERS}" if name in _BEFORE["text"].split() else CUT_BEHIND)
        for name, remedy in name_remedies(_BEFORE).items()
    },
}
