"""Read what an extension asks of the system, and the link map of its code."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import capstone
from elftools.elf.elffile import ELFFile

MAP_LINE = re.compile(
    r"\s*(?P<place>[0-9a-f]+)\s+[0-9a-f]+\s+(?P<size>[0-9a-f]+)\s+\d+\s+(?P<file>\S.*):\((?P<section>\.\S*)\)"
)
# Groups of instructions, as capstone names them, that every processor of a kind has, and those that say what one does.
BASELINE = frozenset({"sse1", "sse2", "mmx", "fpu", "cmov", "mode64", "not64bitmode", "fparmv8", "neon"})
FLOW = frozenset(
    {"jump", "call", "ret", "int", "iret", "return", "privilege", "branch_relative", "pointer authentication"}
)
# Those that it puts in no group, by name and operands.
UNGROUPED = {
    "EM_X86_64": {"avx": r"v", "popcnt": r"popcnt|lzcnt", "3dnow": "prefetchw"},
    "EM_AARCH64": {
        "lse": r"(ld|st)(add|clr|eor|set|[su]max|[su]min)[abhlp]* |(cas|swp)[abhlp]* ",
        "sve": r".*\b[zp]\d+[./]",
        "dotprod": r"(us|su|[us])(dot|mmla) ",
        "rdm": r"sqrdml[as]h ",
        "fp16": r"f(?!cvt[lnx])\w+ .*\.[48]h\b",
        "rcpc": r"ldap[ru]",
        "jscvt": r"fjcvtzs|fcmla|fcadd",
    },
}
AS_BEFORE = frozenset({"tzcnt"})  # is bsf on a processor that has it not, and compilers know


@dataclass(frozen=True)
class Extension:
    """What a linked extension asks for.

    needed     libraries by name;  versions  of symbols, by library;  imports  symbols that others define
    exports    symbols that it defines for others;  paths  run-time search paths;  machine  as ELF calls it
    """

    machine: str
    needed: frozenset[str]
    versions: dict[str, frozenset[str]]
    imports: frozenset[str]
    exports: frozenset[str]
    paths: tuple[str, ...] = ()
    has_executable_stack: bool = False


@dataclass
class Piece:
    """The code that one source gave, as linked."""

    source: str
    code: bytes = field(repr=False)
    place: int = 0


def read_extension(path: Path) -> Extension:
    """What the dynamic section and its tables say."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        dynamic: Any = elf.get_section_by_name(".dynamic")
        symbols: Any = elf.get_section_by_name(".dynsym")
        versions: Any = elf.get_section_by_name(".gnu.version_r")
        tags = [*dynamic.iter_tags()]
        named = [s for s in symbols.iter_symbols() if s.name]
        outside = {s.name for s in named if s["st_shndx"] == "SHN_UNDEF" and s["st_info"]["bind"] != "STB_WEAK"}
        stacks = [s for s in elf.iter_segments() if s["p_type"] == "PT_GNU_STACK"]
        return Extension(
            elf["e_machine"],
            frozenset(tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"),
            {lib.name: frozenset(v.name for v in each) for lib, each in (versions.iter_versions() if versions else ())},
            frozenset(outside),
            frozenset(s.name for s in named if s["st_shndx"] != "SHN_UNDEF"),
            tuple(str(tag) for tag in tags if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH")),
            any(s["p_flags"] & 1 for s in stacks) or not stacks,
        )


def read_pieces(path: Path, link_map: str) -> Iterator[Piece]:
    """The code of an extension, by the source that it is from; ValueError if the map is that of another file."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        sections = [
            (s["sh_addr"], s.data()) for s in elf.iter_sections() if s["sh_flags"] & 4 and s["sh_type"] != "SHT_NOBITS"
        ]
        covered = 0
        for line in link_map.splitlines():
            if (found := MAP_LINE.match(line)) is None:
                continue
            place, size = int(found["place"], 16), int(found["size"], 16)
            for start, code in sections:
                if start <= place and place + size <= start + len(code) and size:
                    covered += size
                    yield Piece(found["file"], code[place - start : place - start + size], place)
    total = sum(len(code) for _, code in sections)
    if covered < 0.98 * total:  # the rest fills up to the next function
        raise ValueError(f"the link map accounts for {covered} of {total} bytes of code; it is that of another build")


def groups_beyond(piece: Piece, machine: str, allowed: frozenset[str]) -> dict[str, str]:
    """Instruction sets of some code that are neither baseline nor allowed -> an instruction of it."""
    engine = _engine(machine)
    beyond: dict[str, str] = {}
    for instruction in engine.disasm(piece.code, piece.place):
        if instruction.id == 0 or instruction.mnemonic.removeprefix("rep ") in AS_BEFORE:
            continue
        text = f"{instruction.mnemonic} {instruction.op_str}"
        names = {instruction.group_name(number) for number in instruction.groups} - FLOW - BASELINE
        if not names:
            names = {name for name, pattern in UNGROUPED[machine].items() if re.match(pattern, text)}
        for name in names - allowed:
            beyond.setdefault(name, text)
    return beyond


def largest_frame(piece: Piece, machine: str) -> int:
    """The most bytes that one instruction of some code takes from the stack, below 16 MiB: a function's frame."""
    if machine == "EM_X86_64":  # sub rsp, number
        return max(
            (int.from_bytes(n, "little") for n in re.findall(rb"\x48\x81\xec(...\x00)", piece.code, re.S)), default=0
        )
    words = (word for (word,) in struct.iter_unpack("<I", piece.code[: len(piece.code) & ~3]))
    return max(((word >> 10 & 0xFFF) << 12 for word in words if word & 0xFFC003FF == 0xD14003FF), default=0)


def _engine(machine: str) -> Any:
    kinds = {
        "EM_X86_64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
        "EM_AARCH64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
    }
    engine = capstone.Cs(*kinds[machine])
    engine.detail = engine.skipdata = True
    return engine
