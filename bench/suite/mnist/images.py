"""The owner's part in the clear: `images.py check PIXELS LABELS IMAGES.npy`, `images.py name SCORES.npy LABELS DIGITS`.

Pixels are a text of one image a line, as the suite writes them; labels a text of one a line, by whose number the suite
announces how many images there are (nothing else is read of them).
"""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from latticework.errors import FormatError, RangeError, ShapeError, UserError

PIXELS, DIGITS = 784, 10


def check(pixels: Path, labels: Path, images: Path) -> None:
    """Write the images of a text as an array (n, 784) of float32, as many as are announced.

    raises  FormatError for what is truncated or no number, ShapeError for fewer or more images or pixels, RangeError
            for a pixel outside 0 to 1
    """
    found, announced = read_numbers(pixels), count_lines(labels)
    if found.shape != (announced, PIXELS):
        raise ShapeError(
            f"{pixels} has {found.shape[0]} images of {found.shape[1]} pixels, and {labels} announces {announced} of "
            f"{PIXELS}; write both files of the same images again"
        )
    outside = np.argwhere(~((found >= 0) & (found <= 1)))
    if len(outside):
        row, column = outside[0]
        raise RangeError(
            f"{pixels}, line {row + 1}: pixel {column + 1} is {found[row, column]:g}, outside 0 to 1, as are "
            f"{len(outside) - 1} more; divide the grey values of 8 bits by 255"
        )
    write_array(images, found)


def name(scores: Path, labels: Path, digits: Path) -> None:
    """Write the digit of the largest score of each image, one a line.

    raises  ShapeError for scores of another number of images than is announced; RangeError for no numbers
    """
    found, announced = np.load(scores), count_lines(labels)
    if found.shape != (announced, DIGITS):
        raise ShapeError(
            f"{scores} has the shape {found.shape}, and {labels} announces {announced} images: their scores are "
            f"({announced}, {DIGITS}); decrypt the results of these images"
        )
    if not np.isfinite(found).all():
        raise RangeError(f"{scores}: {np.sum(~np.isfinite(found))} scores are no numbers; compute the results again")
    write_whole(digits, "".join(f"{digit}\n" for digit in found.argmax(axis=1)).encode())


def read_numbers(file: Path) -> Any:
    """The numbers of a text, a row a line. FormatError for what is truncated, or holds anything else."""
    with file.open("rb") as text:
        if text.seek(0, io.SEEK_END) == 0 or text.seek(-1, io.SEEK_END) < 0 or text.read(1) != b"\n":
            raise FormatError(f"{file} ends within a line after {file.stat().st_size} bytes; write it again, whole")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.loadtxt(file, dtype=np.float32, ndmin=2, comments=None)
    except (ValueError, UserWarning) as error:
        raise FormatError(f"{file}: {error}; write it again, {PIXELS} numbers a line") from None


def count_lines(file: Path) -> int:
    """How many lines a text has."""
    return file.read_bytes().count(b"\n")


def write_array(file: Path, array: Any) -> None:
    """Write an array whole, or not at all."""
    memory = io.BytesIO()
    np.save(memory, array)
    write_whole(file, memory.getbuffer())


def write_whole(file: Path, data: bytes | memoryview) -> None:
    """Write a file whole, or not at all: a process that is ended leaves what was there before."""
    begun = file.with_name(file.name + ".begun")
    begun.write_bytes(data)
    begun.replace(file)


if __name__ == "__main__":
    try:
        {"check": check, "name": name}[sys.argv[1]](*map(Path, sys.argv[2:]))
    except (UserError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
