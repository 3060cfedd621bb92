"""The text of a stage: a header that says what it is, and its module.

    // latticework IR 1: stage vectors of program score, under ckks
    // <what its module is>
    // from 3f62...
    // parameters {...}       where they are chosen by then

The line `from` names the module that was written, so that a text goes on in the compilation that it comes of and in no
other: what clients encode, calibration data and error bounds are of that. Constants are named by hash and not in it.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import numpy.typing as npt

from latticework.compiler.expand.expand_module import SYMBOLIC
from latticework.compiler.levels.level_plan_text import print_levels
from latticework.compiler.stage_modules import StageModules
from latticework.compiler.stage_table import NAMES, IrStage, find_stage
from latticework.errors import FormatError, IrError, ParameterMismatchError, SecurityError
from latticework.errors.shown import count_noun
from latticework.functions.approximation.real_functions import FUNCTIONS, Function
from latticework.ir import Module, Op, print_module
from latticework.ir.dialects.primitives import PRIMITIVES
from latticework.ir.parser import parse_verified
from latticework.ir.printer import print_readable
from latticework.ir.scanner import TextPlace
from latticework.lazy_dataclass import dataclass
from latticework.plan.files.check_file import check_chain
from latticework.plan.files.codec import from_data, to_data
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.values.packing.key_manifest import KeyUse

FORMAT = 1
_HEAD = re.compile(r"// latticework IR (\d+): stage (\w+) of ([^\n]*)")
_FROM = re.compile(r"^// from (\w+)$", re.MULTILINE)
_PARAMETERS = re.compile(r"^// parameters (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class StageText:
    """A text that was read.

    is_same  whether it says what was written
    """

    stage: IrStage
    module: Module
    chain: ModulusChain
    is_same: bool


def write_stage(modules: StageModules, stage: IrStage) -> str:
    """The text of a stage of a compilation.

    raises  IrError where a program of its kind has no such stage
    """
    module, client = modules.find(stage), modules.plan.client
    if module is None:
        raise IrError(f"ir: {client.name} has no stage {stage.name}; its stages are {', '.join(modules.names)}")
    kind = "circuit" if client.arguments else "program"
    lines = [
        f"// latticework IR {FORMAT}: stage {stage.name} of {kind} {client.name}, under {client.chain.scheme}",
        f"// {stage.holds}",
        f"// from {name_module(module)}",
    ]
    if stage.fixes:
        lines.append(f"// parameters {json.dumps(to_data(modules.chain))}")
    if stage.name == "levels":
        lines += [f"// {line}" for line in print_levels(modules.levels).splitlines()]
    if stage.name == "primitives":
        lines += [f"// {_describe_key(use)}" for use in client.manifest.uses]
    return "\n".join([*lines, print_readable(module)])


def _describe_key(use: KeyUse) -> str:
    """A key of the manifest, which follows from the demands of a module and is not read."""
    spec = use.spec
    turns = f", rotation by {use.steps}" if use.steps is not None else ""
    element = f" {spec.galois_element}{turns}" if spec.galois_element else ""
    return f"{spec.kind} key{element}: level {spec.level} of track {spec.track}, {count_noun(use.count, 'product')}"


def name_module(module: Module) -> str:
    """A name of what a module computes, wherever the user's files lie."""
    return sha256(print_module(module, locations=False).encode()).hexdigest()[:32]


def read_stage(
    text: str, modules: StageModules, constants: Iterable[npt.ArrayLike] = (), name: str = "IR text"
) -> StageText:
    """Read a text that was written of a compilation, and may have been edited.

    constants  arrays that it names by hash beside those of the program
    name       of the text, for messages
    raises     IrError that names the place for what is no such text, or does not verify; ParameterMismatchError for a
               text of something else; SecurityError for parameters below the security table
    """
    head = _HEAD.match(text)
    if head is None:
        raise IrError(
            "this is no text of a stage: its first line is to be what model.ir(stage) wrote", at=TextPlace(name, 1, 1)
        )
    if int(head[1]) != FORMAT:
        raise IrError(
            f"the text is of format {head[1]}, this version of latticework reads {FORMAT}; write it anew with this one",
            at=TextPlace(name, 1, 1),
        )
    stage = find_stage(head[2])
    original = modules.find(stage)
    source = _FROM.search(text)
    if original is None or source is None or source[1] != name_module(original):
        raise ParameterMismatchError(
            f"{name}: the text was written of stage {stage.name} of {head[3]}, which is not what this model was "
            "compiled from; give that model, or compile again with the same program, data and options"
        )
    chain = _read_chain(text, modules, name) if stage.fixes else modules.chain
    sources = {**original.sources, **_by_hash(constants)}
    functions = _Functions(original, name)
    module = parse_verified(
        text, name, sources=sources, restore=functions.restore, check=lambda op: _check_operation(op, stage)
    )
    functions.check()
    _check_border(module, original, stage, name)
    if module.absent:
        raise IrError(
            f"{name}: it names constants that are not there: {', '.join(module.absent)}; give constants=[array], and "
            "name an array by lw.ir.source_hash(array)"
        )
    is_same = chain == modules.chain and name_module(module) == source[1]
    if is_same and print_readable(module) != print_readable(original):
        module = original  # the user's files lie elsewhere
    return StageText(stage, module, chain, is_same)


def _by_hash(constants: Iterable[npt.ArrayLike]) -> dict[str, npt.NDArray[Any]]:
    module = Module()
    for array in constants:
        module.add_source(array)
    return module.sources


def _read_chain(text: str, modules: StageModules, name: str) -> ModulusChain:
    """The parameters that a text states, which may be others than those of the compilation."""
    found = _PARAMETERS.search(text)
    at = TextPlace(name, 1 if found is None else text.count("\n", 0, found.start()) + 1, 1)
    if found is None:
        raise IrError("the line of parameters is missing", at=at)
    try:
        chain: ModulusChain = from_data(ModulusChain, json.loads(found[1]), "parameters")
        check_chain(chain)
        options = modules.compilation.task.options
        if not options.allows_insecure and (chain.insecure or chain.security_bits < options.parameters.security_bits):
            promised = options.parameters.security_bits
            raise SecurityError(
                f"the parameters promise less than {promised} bits; compile with insecure=True for that"
            )
        core_parameters(chain)
    except SecurityError as error:
        raise SecurityError(error.message, at=at) from None
    except (FormatError, TypeError, ValueError) as error:
        raise IrError(f"the parameters are not valid: {error}", at=at) from None
    return chain


def _check_operation(op: Op, stage: IrStage) -> None:
    """IrError for an operation of another stage, and for what is no whole instruction where instructions have to be."""
    if op.name.partition(".")[0] not in stage.dialects:
        listed = ", ".join(stage.dialects)
        raise IrError(f"{op.name} is no operation of stage {stage.name}, which has those of {listed}", at=op.loc)
    if stage.name != NAMES[-1] or op.name not in PRIMITIVES:
        return
    if op.name in SYMBOLIC:
        raise IrError(f"{op.name} is no instruction: it stands for several, up to stage {NAMES[-2]}", at=op.loc)
    needed = PRIMITIVES[op.name].record.signature.operands
    if "*" not in needed and len(op.operands) != len(needed):
        raise IrError(f"{op.name}: has {len(op.operands)} operands, needs {len(needed)}, its key among them", at=op.loc)


def _check_border(module: Module, original: Module, stage: IrStage, name: str) -> None:
    """IrError unless inputs and outputs are those that clients encode and decode."""
    if (module.input_names, module.outputs) != (original.input_names, original.outputs):
        raise IrError(
            f"{name}: inputs and outputs are {module.input_names} and {module.outputs}; clients have "
            f"{original.input_names} and {original.outputs}"
        )
    for what, value, was in zip(module.input_names, module.inputs, original.inputs, strict=True):
        if value.type is not was.type:
            raise IrError(f"{name}: input {what} is {value.type}; what clients encrypt is {was.type}")
    ends = module.body.terminator.operands, original.body.terminator.operands
    for what, value, was in zip(module.outputs, *ends, strict=True):
        if not _is_alike(value.type, was.type):
            raise IrError(f"{name}: output {what} is {value.type}; what clients decrypt is like {was.type}")


def _is_alike(one: Any, other: Any) -> bool:
    """Whether results of two types are read alike: a level and scale may differ."""
    fields = [field for field in one.fields if field not in ("level", "scale", "layout")]
    return type(one) is type(other) and all(getattr(one, field) == getattr(other, field) for field in fields)


class _Functions:
    """Functions in the place of their names, by which texts have them: those of the program, in its order."""

    def __init__(self, original: Module, name: str) -> None:
        self.name = name
        self.known: dict[str, list[Function]] = defaultdict(list)
        self.taken: Counter[str] = Counter()
        for op in original.walk():
            function = op.attrs.get("function")
            if isinstance(function, Function):
                self.known[function.name].append(function)

    def restore(self, attrs: dict[str, Any]) -> None:
        """Replace a name in attributes of an operation."""
        asked = attrs.get("function")
        found = self.known.get(asked, ()) if isinstance(asked, str) else ()
        if isinstance(asked, str) and found:
            place = self.taken[asked] if self.is_ambiguous(asked) else 0
            attrs["function"] = found[min(place, len(found) - 1)]
            self.taken[asked] += 1
        elif asked in FUNCTIONS:  # one that the program had not
            attrs["function"] = FUNCTIONS[asked]

    def is_ambiguous(self, asked: str) -> bool:
        """Whether the program has several functions of a name."""
        return any(each != self.known[asked][0] for each in self.known[asked])

    def check(self) -> None:
        """IrError where it cannot be told which functions a text means."""
        for asked, count in self.taken.items():
            have = len(self.known[asked])
            if self.is_ambiguous(asked) and count != have:
                raise IrError(
                    f"{self.name}: which function is {asked!r}? The program has {have} of this name, the text {count}; "
                    "leave as many, in their order, or give them names of their own in the program"
                )


@dataclass(frozen=True)
class StageTexts:
    """The texts of a compilation, as a model keeps them."""

    modules: StageModules

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its stages."""
        return self.modules.names

    def text(self, name: str) -> str:
        """The text of a stage."""
        return write_stage(self.modules, find_stage(name))

    def constants(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays that the texts name, by hash."""
        found: dict[str, npt.NDArray[Any]] = {}
        for name in self.names:
            module = self.modules.find(find_stage(name))
            assert module is not None
            found |= module.sources
        return found
