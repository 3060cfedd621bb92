"""Terms of texts, taken apart as scikit-learn's vectorizers do, and the hash of a term."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import field

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.step_arrays import MAX_TEXT

WORD, CHAR, CHAR_WB = "word", "char", "char_wb"
# Patterns of words: files are not trusted, and some patterns take for ever. These read each character once.
PATTERNS = (
    r"(?u)\b\w\w+\b", r"\b\w\w+\b", r"(?u)\b\w+\b", r"\b\w+\b", r"\w+", r"(?u)\w+", r"\w\w+", r"\w{2,}", r"\b\w{2,}\b",
    r"\w{3,}", r"\b\w{3,}\b", r"\b\w\w\w+\b", r"\S+", r"[^\s]+", r"[a-z]+", r"[a-zA-Z]+", r"[A-Za-z]+", r"[a-zA-Z0-9]+",
    r"[A-Za-z0-9]+", r"\b[a-zA-Z]+\b", r"\b[a-zA-Z]{2,}\b", r"\b[a-zA-Z]{3,}\b", r"[a-zA-Z]{2,}", r"[a-zA-Z]{3,}",
)  # fmt: skip
MAX_GRAM = 32
_SPACES = re.compile(r"\s\s+")


@dataclass(frozen=True, slots=True)
class TextAnalysis:
    """The terms of a text: n-grams of its words, of its characters, or of those within words.

    kind          "word", "char" or "char_wb"
    pattern       of words, one of `PATTERNS`
    least, most   how many words or characters a term has
    lowers        texts are in lower case first
    accents       that are taken off: "", "ascii" or "unicode"
    stop_words    words that are left out
    """

    kind: str = WORD
    pattern: str = PATTERNS[0]
    least: int = 1
    most: int = 1
    lowers: bool = True
    accents: str = ""
    stop_words: tuple[str, ...] = field(default=(), metadata={"unstored_default": True})

    def __post_init__(self) -> None:
        if self.kind not in (WORD, CHAR, CHAR_WB) or self.accents not in ("", "ascii", "unicode"):
            raise ValueError(f"texts by {self.kind!r} without {self.accents!r}")
        if self.pattern not in PATTERNS:
            raise ValueError(f"words of the pattern {self.pattern!r}, which is none of those that are known")
        if not 1 <= self.least <= self.most <= MAX_GRAM:
            raise ValueError(f"terms of {self.least} to {self.most} words or characters; at most {MAX_GRAM}")
        if sum(map(len, self.stop_words)) > MAX_TEXT:
            raise ValueError("more stop words than a language has")

    def terms(self, text: str) -> Iterator[str]:
        """Yield the terms of a text, as often as they occur."""
        text = _without_accents(text.lower() if self.lowers else text, self.accents)
        if self.kind == WORD:
            words = re.findall(self.pattern, text)
            stop = frozenset(self.stop_words)
            return self._grams([word for word in words if word not in stop] if stop else words)
        text = _SPACES.sub(" ", text)
        return self._windows(text, self.least) if self.kind == CHAR else self._within_words(text)

    def _grams(self, words: list[str]) -> Iterator[str]:
        for length in range(self.least, self.most + 1):
            for at in range(len(words) - length + 1):
                yield " ".join(words[at : at + length]) if length > 1 else words[at]

    def _windows(self, text: str, least: int) -> Iterator[str]:
        for length in range(least, self.most + 1):
            for at in range(len(text) - length + 1):
                yield text[at : at + length]

    def _within_words(self, text: str) -> Iterator[str]:
        for word in text.split():
            padded = f" {word} "
            whole = len(padded)
            if whole <= self.least:
                yield padded  # a short word counts once
                continue
            for length in range(self.least, min(self.most, whole) + 1):
                for at in range(whole - length + 1):
                    yield padded[at : at + length]

    def words(self) -> str:
        """Describe them."""
        of = {WORD: "words", CHAR: "characters", CHAR_WB: "characters within words"}[self.kind]
        many = str(self.most) if self.least == self.most else f"{self.least} to {self.most}"
        return of if (self.kind, self.most) == (WORD, 1) else f"{many} {of}"


def _without_accents(text: str, how: str) -> str:
    if not how or text.isascii():
        return text
    taken_apart = unicodedata.normalize("NFKD", text)
    if how == "ascii":
        return taken_apart.encode("ascii", "ignore").decode("ascii")
    return "".join(character for character in taken_apart if not unicodedata.combining(character))


def hash_of(term: str) -> int:
    """MurmurHash3 of 32 bits of a term in UTF-8, with seed 0, as a signed number (Appleby's public-domain function)."""
    data = term.encode("utf-8", "surrogatepass")
    state, blocks = 0, len(data) // 4
    for at in range(blocks):
        state ^= _mix(int.from_bytes(data[4 * at : 4 * at + 4], "little"))
        state = (_turn(state, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= _mix(int.from_bytes(data[4 * blocks :], "little"))
    state ^= len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _mix(block: int) -> int:
    return _turn(block * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF


def _turn(number: int, bits: int) -> int:
    return (number << bits | number >> 32 - bits) & 0xFFFFFFFF
