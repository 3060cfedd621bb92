"""What is in a file: any container that latticework writes, told in text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from latticework import _core
from latticework.plan.serialise import CODE as CODE_SECTION
from latticework.plan.serialise import CONSTANTS, DEBUG, META, SOURCE, read_client, read_plan
from latticework.report.build import build_client_report, build_report
from latticework.report.quantities import count, size
from latticework.report.text_table import WIDTH, clip, columns

_KINDS = {
    _core.FileKind.PLAN: "plan (for the server: code, weights and all that a client needs)",
    _core.FileKind.CLIENT: "client file (parameters, inputs, outputs and keys; no code, no weights)",
    _core.FileKind.SECRET_KEY: "SECRET KEY: whoever has this file can decrypt. Never send it",
    _core.FileKind.PUBLIC_KEY: "public key (encrypts; safe to send)",
    _core.FileKind.EVALUATION_KEYS: "evaluation keys (for the server; safe to send)",
    _core.FileKind.CIPHERTEXTS: "ciphertexts",
    _core.FileKind.PLAINTEXTS: "plaintexts (encoded, NOT encrypted)",
}
_PLAN_SECTIONS = {
    META: "interface", CODE_SECTION: "code", CONSTANTS: "constants", DEBUG: "debug tables", SOURCE: "weights",
}  # fmt: skip
_MAX_SECTIONS = 24
_MAX_ITEMS = 8


def explain_file(path: str | Path) -> str:
    """Kind, parameters, header and sections of a file; for plans and client files the whole report.

    Everything in the file is verified on the way.
    raises  FormatError if it is damaged or is no file of latticework
    """
    path = Path(path)
    reader = _core.ContainerReader(str(path), kinds=[int(kind) for kind in _KINDS])
    reader.verify_all()
    kind = _core.FileKind(reader.kind)
    facts = [
        ("file", path.name),
        ("kind", _KINDS[kind]),
        ("size", size(path.stat().st_size)),
        ("format", f"version {_major_version(path)}.{reader.minor_version}{_plan_format(reader.header)}"),
        ("parameters", bytes(reader.parameters).hex()),
        *([("holds", _held(reader.header))] if kind == _core.FileKind.CIPHERTEXTS else []),
    ]
    lines = [f"  {name:<12}{value}" for name, value in facts]
    lines += ["", "Header", *_header(reader.header)]
    lines += ["", f"Sections ({reader.num_sections})", *_sections(reader, kind)]
    text = "\n".join(clip(line.rstrip(), WIDTH) for line in lines) + "\n"
    if kind == _core.FileKind.PLAN:
        return text + "\n" + build_report(read_plan(path)).text()
    if kind == _core.FileKind.CLIENT:
        return text + "\n" + build_client_report(read_client(path)).text()
    return text


def _major_version(path: Path) -> int:
    """The first half of the version, which follows the eight bytes that every file starts with."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(10)[8:], "little")


def _plan_format(header: dict[str, Any]) -> str:
    """Of plans and client files, the format of the program in the file."""
    return f", plan format {shown(header['format'])}" if "format" in header else ""


def _held(header: dict[str, Any]) -> str:
    """Which inputs or outputs of a program are in a file of ciphertexts, by name; some programs take several files."""
    items, extras = header.get("ciphertexts", []), header.get("extras", {})
    counts = Counter(str(item.get("name", "")).partition("[")[0] for item in items)  # x[0], x[1], ... of an array
    names = [name if number == 1 else f"{name} ({count(number)} ciphertexts)" for name, number in counts.items()]
    names += [f"{name} = {value} (not encrypted)" for name, value in dict(extras.get("integers", {})).items()]
    more = f" and {count(len(names) - _MAX_ITEMS)} more" if len(names) > _MAX_ITEMS else ""
    of = f"{extras['role']} of {extras.get('program', '')}: " if "role" in extras else ""
    return f"{of}{', '.join(names[:_MAX_ITEMS])}{more}"


def _header(header: dict[str, Any]) -> list[str]:
    lines = []
    for name, value in header.items():
        if isinstance(value, list) and value and isinstance(value[0], dict | list):
            lines.append(f"  {name}: {count(len(value))}")
            lines += [f"    {shown(item)}" for item in value[:_MAX_ITEMS]]
            lines += [f"    and {count(len(value) - _MAX_ITEMS)} more"] if len(value) > _MAX_ITEMS else []
        else:
            lines.append(f"  {name}: {shown(value)}")
    return lines or ["  (empty)"]


def shown(value: Any) -> str:
    """A header value on one line; bytes as hexadecimal, long ones shortened."""
    if isinstance(value, bytes):
        return value.hex() if len(value) <= 16 else f"{value[:16].hex()}… ({len(value)} bytes)"
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(item)}" for name, item in value.items())
    if isinstance(value, list):
        more = f", … ({count(len(value))})" if len(value) > _MAX_ITEMS else ""
        return "[" + ", ".join(map(shown, value[:_MAX_ITEMS])) + more + "]"
    return str(value)


def _sections(reader: _core.ContainerReader, kind: _core.FileKind) -> list[str]:
    names = _PLAN_SECTIONS if kind in (_core.FileKind.PLAN, _core.FileKind.CLIENT) else {1: "rows"}
    total = reader.num_sections
    rows = [
        [names.get(reader.section_kind(i), f"kind {reader.section_kind(i)}"), size(reader.section_bytes(i))]
        for i in range(min(total, _MAX_SECTIONS))
    ]
    if total > _MAX_SECTIONS:
        rest = sum(reader.section_bytes(i) for i in range(_MAX_SECTIONS, total))
        rows.append([f"{count(total - _MAX_SECTIONS)} more", size(rest)])
    return columns(("content", "bytes"), rows)
