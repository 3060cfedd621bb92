"""Numbers of word pieces, as BERT's uncased models read text.

After Y. Wu et al., Google's Neural Machine Translation System (2016), section 4.1: words are cut greedily into the
longest pieces that a vocabulary has, pieces inside of words beginning with ##.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

UNKNOWN, FIRST, LAST = "[UNK]", "[CLS]", "[SEP]"
LONGEST = 100  # characters of a word; longer ones are unknown
_WORDS = re.compile(r"[^\W_一-鿿㐀-䶿]+|\S")  # words, every other sign and every Chinese character by itself


class WordPieces:
    """A vocabulary, one piece a line in the order of their numbers."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.numbers = {piece: number for number, piece in enumerate(lines)}

    def encode(self, text: str, most: int) -> list[int]:
        """A text between its two marks, cut to at most so many numbers."""
        pieces = [piece for word in _WORDS.findall(_plain(text)) for piece in self._cut(word)]
        return [self.numbers[FIRST], *pieces[: most - 2], self.numbers[LAST]]

    def _cut(self, word: str) -> list[int]:
        found: list[int] = []
        start = 0
        while start < len(word) <= LONGEST:
            pieces = (("##" if start else "") + word[start:end] for end in range(len(word), start, -1))
            piece = next((piece for piece in pieces if piece in self.numbers), None)
            if piece is None:
                break
            found.append(self.numbers[piece])
            start += len(piece) - 2 * (start > 0)
        return found if start == len(word) else [self.numbers[UNKNOWN]]


def _plain(text: str) -> str:
    """In small letters, without accents and control characters."""
    parts = unicodedata.normalize("NFD", text.lower())
    kinds = {"Mn": "", "Cc": " ", "Cf": ""}
    return "".join(kinds.get(unicodedata.category(each), each) for each in parts)
