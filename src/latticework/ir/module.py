"""Module: one program, with the arrays its constants are taken from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from latticework.errors import DtypeError
from latticework.ir.builder import Builder
from latticework.ir.core import Array, Block, Op, Value, walk_block


class Module:
    """A program: a block whose arguments are the inputs and which ends by yielding the outputs.

    body         the block; its terminator's operands are the outputs
    input_names  one per argument of the body
    outputs      one name per output
    sources      content hash -> array, read-only
    absent       content hash -> (dtype, shape) of sources whose data is not here (module read from text)
    """

    __slots__ = ("absent", "body", "input_names", "outputs", "sources")

    def __init__(
        self,
        body: Block | None = None,
        input_names: Iterable[str] = (),
        outputs: Iterable[str] = (),
        sources: dict[str, Array] | None = None,
    ) -> None:
        self.body = Block() if body is None else body
        self.input_names = list(input_names)
        self.outputs = list(outputs)
        self.sources: dict[str, Array] = dict(sources or {})
        self.absent: dict[str, tuple[str, tuple[int, ...]]] = {}

    @property
    def inputs(self) -> list[Value]:
        """The arguments of the body."""
        return self.body.args

    def add_source(self, array: Any) -> str:
        """Keep a read-only copy of an array under its content hash, and return the hash."""
        stored = np.array(array, order="C")
        if stored.dtype.hasobject:
            raise DtypeError(f"an array of dtype {stored.dtype} cannot be a constant; give it as numbers")
        stored = stored.astype(stored.dtype.newbyteorder("<"), copy=False)
        digest = source_hash(stored)
        if digest not in self.sources:
            stored.flags.writeable = False
            self.sources[digest] = stored
            self.absent.pop(digest, None)
        return digest

    def walk(self) -> Iterator[Op]:
        """All ops, nested ones too, each before those nested in it."""
        return walk_block(self.body)

    def empty_like(self, body: Block) -> Module:
        """A module with another body and the same names and sources."""
        new = Module(body, self.input_names, self.outputs, self.sources)
        new.absent = dict(self.absent)
        return new

    def clone(self) -> Module:
        """A copy that shares only the source arrays, which nobody writes."""
        mapping: dict[Value, Value] = {}
        builder = Builder(Block())
        for value in self.body.args:
            mapping[value] = builder.block.add_arg(value.type, value.origin)
        for op in self.body.ops:
            builder.copy(op, mapping)
        return self.empty_like(builder.block)


def source_hash(array: Array) -> str:
    """BLAKE2b-128, hexadecimal, of dtype, shape and little-endian bytes of a C-ordered array."""
    digest = hashlib.blake2b(f"{array.dtype.str}{array.shape}".encode(), digest_size=16)
    digest.update(array.tobytes())
    return digest.hexdigest()
