"""Description of a file: any container that latticework writes, told in words or as plain data."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

from latticework.errors import FormatError
from latticework.plan.files.serialise import CODE as CODE_SECTION
from latticework.plan.files.serialise import (
    CONSTANTS,
    DEBUG,
    META,
    PROGRAM,
    SOURCE,
    interface_id,
    read_client,
    read_plan,
)
from latticework.report.as_json import document_data
from latticework.report.build import build_client_report, build_report
from latticework.report.quantities import count, power_of_two, size
from latticework.report.stored_keys import stored_key_names
from latticework.report.text_table import WIDTH, clip, columns
from latticework.runtime.ledger.records import begins_as_ledger
from latticework.values.extension import _core

_KINDS = {
    _core.FileKind.PLAN: "plan (for the server: code, weights and all that a client needs)",
    _core.FileKind.CLIENT: "client file (parameters, inputs, outputs and keys; no code, no weights)",
    _core.FileKind.SECRET_KEY: "SECRET KEY: whoever has this file can decrypt. Never send it",
    _core.FileKind.PUBLIC_KEY: "public key (encrypts; safe to send)",
    _core.FileKind.EVALUATION_KEYS: "evaluation keys (for the server; safe to send)",
    _core.FileKind.CIPHERTEXTS: "ciphertexts (safe to send)",
    _core.FileKind.PLAINTEXTS: "plaintexts (encoded, NOT encrypted)",
    _core.FileKind.PREPARED: "prepared constants (weights of a plan, encoded for a server, NOT encrypted)",
}
_PLAN_SECTIONS = {
    META: "interface", CODE_SECTION: "code", CONSTANTS: "constants", DEBUG: "debug tables", SOURCE: "weights",
    PROGRAM: "interface, code, constants, debug tables",
}  # fmt: skip
_MAX_SECTIONS = 24
_MAX_ITEMS = 8
_TEXT_START = 256  # bytes that tell what a file of text is
_INSECURE_NAME = b"INSECURE"  # with which the key sets of seeds of tests begin
_ID_DIGITS = 16  # of parameters, key sets and compilations: as many as messages show


def explain_file(source: str | Path | bytes) -> str:
    """Kind, parameters and content of a file, or of the bytes of one; for plans and client files the whole report.

    Everything in it is verified on the way.
    raises  FormatError if it is damaged or is no file of latticework
    """
    reader = _open_source(source)
    facts, kind = file_facts(source), _core.FileKind(reader.kind)
    rows = [
        ("file", "standard input" if isinstance(source, bytes) else Path(source).name),
        ("kind", _KINDS[kind]),
        ("size", size(facts["bytes"])),
        ("format", f"version {facts['format']}{_plan_format(reader.header)}"),
        ("parameters", f"{facts['parameters'][:_ID_DIGITS]}  (the same in all files that go together)"),
    ]
    if kind in (_core.FileKind.PLAN, _core.FileKind.CLIENT):
        rows.append(
            ("interface", f"{facts['interface'][:_ID_DIGITS]}  (of the client file that inputs are encrypted by)")
        )
        rows += [("columns", f"of {name}: {_list_columns(names)}") for name, names in facts.get("columns", {}).items()]
        details = ["", f"Sections ({reader.num_sections})", *_sections(reader, kind)]
    else:
        if "key_set" in facts:
            rows.append(("key set", f"{facts['key_set'][:_ID_DIGITS]}  ({_origin(facts['key_set'])})"))
        if kind == _core.FileKind.CIPHERTEXTS:
            rows.append(("holds", _find_held(reader.header)))
            rows += [("interface", facts["interface"][:_ID_DIGITS])] if "interface" in facts else []
            if "clipped" in facts:
                rows.append(("clipped", "rows outside, by the client, which alone knows whether there were any"))
        details = _content(reader, kind)
    lines = [*(f"  {name:<12}{value}" for name, value in rows), *details]
    text = "\n".join(clip(line.rstrip(), WIDTH) for line in lines) + "\n"
    given = source if isinstance(source, bytes) else Path(source)
    if kind == _core.FileKind.PLAN:
        return text + "\n" + build_report(read_plan(given)).text()
    if kind == _core.FileKind.CLIENT:
        return text + "\n" + build_client_report(read_client(given)).text()
    return text


def file_facts(source: str | Path | bytes, *, with_report: bool = False) -> dict[str, Any]:
    """The same as plain data: kind, bytes, format, parameters, and by kind what else there is to say.

    with_report  of plans and client files all numbers of their report too, as `Report.json`

    raises  as `explain_file`
    """
    reader = _open_source(source)
    kind, header = _core.FileKind(reader.kind), reader.header
    facts: dict[str, Any] = {
        "kind": kind.name.lower(),
        "bytes": len(source) if isinstance(source, bytes) else os.path.getsize(source),
        "format": f"{_major_version(source)}.{reader.minor_version}",
        "parameters": bytes(reader.parameters).hex(),
    }
    if kind in (_core.FileKind.PLAN, _core.FileKind.CLIENT):
        given = source if isinstance(source, bytes) else Path(source)
        spec = read_client(given)
        if with_report and kind == _core.FileKind.PLAN:
            facts["report"] = document_data(build_report(read_plan(given)).document())
        elif with_report:
            facts["report"] = document_data(build_client_report(spec).document())
        if columns_by_name := {name: list(spec.columns_of(name)) for name in spec.given_names if spec.columns_of(name)}:
            facts["columns"] = columns_by_name
        return facts | {
            "program": spec.name,
            "interface": interface_id(spec).hex(),
            "scheme": spec.chain.scheme,
            "ring_degree": spec.chain.ring_degree,
            "insecure": spec.chain.insecure,
            "inputs": spec.given_names,
            "outputs": spec.result_names,
            "num_evaluation_keys": len(spec.manifest.uses),
        }
    if isinstance(header.get("key_set"), bytes):
        facts["key_set"] = header["key_set"].hex()
    if kind == _core.FileKind.EVALUATION_KEYS:
        facts["keys"] = stored_key_names(header.get("keys"))
    if kind == _core.FileKind.CIPHERTEXTS:
        extras = _extras(header)
        facts |= {"role": _text(extras.get("role")), "program": _text(extras.get("program"))}
        if isinstance(extras.get("interface"), bytes):
            facts["interface"] = extras["interface"].hex()
        facts |= {"holds": list(_counts(header)), "integers": _integers(extras), "extent": _extent(extras)}
        if isinstance(extras.get("clipped"), list):
            facts["clipped"] = len(extras["clipped"])
    return facts


def _list_columns(names: list[str]) -> str:
    """Names of columns, the first few of many."""
    more = f" and {count(len(names) - _MAX_ITEMS)} more" if len(names) > _MAX_ITEMS else ""
    return f"{', '.join(names[:_MAX_ITEMS])}{more}"


def _open_source(source: str | Path | bytes) -> _core.ContainerReader:
    _refuse_text(source)
    given = source if isinstance(source, bytes) else str(source)
    reader = _core.ContainerReader(given, kinds=[int(kind) for kind in _KINDS])
    reader.verify_all()
    return reader


def _refuse_text(source: str | Path | bytes) -> None:
    """Name the files beside a secret key that are text, and what reads them.

    raises  FormatError for these
    """
    name = "standard input" if isinstance(source, bytes) else str(source)
    if isinstance(source, bytes):
        start = source[:_TEXT_START]
    elif Path(source).is_file():
        with open(source, "rb") as file:
            start = file.read(_TEXT_START)
    else:
        return
    if begins_as_ledger(start):
        raise FormatError(
            f"{name} is the ledger of the refusals of a key set, and text: a line for each decryption that began or "
            "was answered. Read it as it is; `latticework decrypt` keeps it, beside the secret key"
        )
    if start.startswith(b"{") and b'"clipped"' in start and b'"number"' in start:
        raise FormatError(
            f"{name} is a record of clipped rows, and text (JSON): its number, how many rows were encrypted, and which "
            "of them were changed. `latticework decrypt --record` reads it, and from the folder `clipped` beside the "
            "secret key it finds it by itself"
        )


def _major_version(source: str | Path | bytes) -> int:
    """The first half of the version, which follows the eight bytes that every file starts with."""
    if isinstance(source, bytes):
        return int.from_bytes(source[8:10], "little")
    with open(source, "rb") as file:
        return int.from_bytes(file.read(10)[8:], "little")


def _plan_format(header: dict[str, Any]) -> str:
    """The plan format of the program in a plan or client file."""
    return f", plan format {show_value(header['format'])}" if "format" in header else ""


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _extras(header: dict[str, Any]) -> dict[str, Any]:
    extras = header.get("extras")
    return extras if isinstance(extras, dict) else {}


def _integers(extras: dict[str, Any]) -> dict[str, int]:
    """Public run-time integers beside ciphertexts."""
    integers = extras.get("integers")
    return {str(k): v for k, v in integers.items() if type(v) is int} if isinstance(integers, dict) else {}


def _extent(extras: dict[str, Any]) -> str | None:
    """The number of rows or whole inputs in the ciphertexts, if they are not one; several may share a run."""
    extent = extras.get("extent")
    if not isinstance(extent, list) or len(extent) not in (1, 2) or any(type(n) is not int for n in extent):
        return None
    whole = f"{count(extent[0])} input{'s' * (extent[0] != 1)}"
    return whole if len(extent) == 1 else f"{count(extent[1])} row{'s' * (extent[1] != 1)} in {whole}"


def _list(header: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every ciphertext of a file: its name and what the file says of it; those of a group share that."""
    found = []
    for listed in (header.get("ciphertexts"), header.get("groups")):
        for item in listed if isinstance(listed, list) else []:
            if isinstance(item, dict):
                names = item["names"] if isinstance(item.get("names"), list) else [item.get("name", "")]
                found += [(str(name), item) for name in names]
    return found


def _counts(header: dict[str, Any]) -> Counter[str]:
    """Count the ciphertexts of each input or output; those of an array are stored as x[0], x[1], ..."""
    return Counter(name.partition("[")[0] for name, _ in _list(header))


def _origin(key_set: str) -> str:
    """The words that tell whose secret key a key set is of."""
    if bytes.fromhex(key_set).startswith(_INSECURE_NAME):
        return "INSECURE: of a secret key from a seed of tests, which is no secret"
    return "the same in all that one secret key made"


def _find_held(header: dict[str, Any]) -> str:
    """Find the inputs or outputs in a file of ciphertexts, by name; some programs take several files."""
    extras = _extras(header)
    names = [n if number == 1 else f"{n} ({count(number)} ciphertexts)" for n, number in _counts(header).items()]
    names += [f"{name} = {value} (not encrypted)" for name, value in _integers(extras).items()]
    names += [f"{extent} (not encrypted)"] if (extent := _extent(extras)) else []
    more = f" and {count(len(names) - _MAX_ITEMS)} more" if len(names) > _MAX_ITEMS else ""
    of = f"{extras['role']} of {extras.get('program', '')}: " if "role" in extras else ""
    return f"{of}{', '.join(names[:_MAX_ITEMS])}{more}"


def _content(reader: _core.ContainerReader, kind: _core.FileKind) -> list[str]:
    """Describe the keys and ciphertexts in a file; what is in a header of another form, as it stands."""
    header = reader.header
    if kind in (_core.FileKind.SECRET_KEY, _core.FileKind.PUBLIC_KEY):
        return []
    if kind == _core.FileKind.EVALUATION_KEYS and (keys := stored_key_names(header.get("keys"))):
        sizes = [size(reader.section_bytes(i)) for i in range(reader.num_sections)]
        sizes = sizes if len(sizes) == len(keys) else [""] * len(keys)
        rows = [[key["name"], count(key["level"]), held] for key, held in zip(keys, sizes, strict=True)]
        return ["", f"Keys ({count(len(keys))})", *_table(("key", "up to level", "bytes"), rows)]
    if kind == _core.FileKind.CIPHERTEXTS and (items := _list(header)) and all(map(_is_described, items)):
        alike: Counter[tuple[str, int, float, int]] = Counter()
        for name, item in items:
            alike[name.partition("[")[0], item["index"], item["scale"], item["slots"]] += 1
        rows = [
            [name, count(number), count(level), power_of_two(scale), count(slots)]
            for (name, level, scale, slots), number in alike.items()
        ]
        return ["", "Ciphertexts", *_table(("name", "number", "level", "scale", "slots"), rows)]
    return ["", "Header", *_header(header), "", f"Sections ({reader.num_sections})", *_sections(reader, kind)]


def _is_described(item: tuple[str, dict[str, Any]]) -> bool:
    """Whether a file says of a ciphertext what `_content` tells."""
    fields = item[1]
    whole = all(type(fields.get(name)) is int for name in ("index", "slots"))
    return whole and isinstance(fields.get("scale"), float) and 0 < fields["scale"] < float("inf")


def _table(head: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    more = [f"  and {count(len(rows) - _MAX_SECTIONS)} more"] if len(rows) > _MAX_SECTIONS else []
    return columns(head, rows[:_MAX_SECTIONS]) + more


def _header(header: dict[str, Any]) -> list[str]:
    lines = []
    for name, value in header.items():
        if isinstance(value, list) and value and isinstance(value[0], dict | list):
            lines.append(f"  {name}: {count(len(value))}")
            lines += [f"    {show_value(item)}" for item in value[:_MAX_ITEMS]]
            lines += [f"    and {count(len(value) - _MAX_ITEMS)} more"] if len(value) > _MAX_ITEMS else []
        else:
            lines.append(f"  {name}: {show_value(value)}")
    return lines or ["  (empty)"]


def show_value(value: Any) -> str:
    """A header value on one line; bytes as hexadecimal, long ones shortened."""
    if isinstance(value, bytes):
        return value.hex() if len(value) <= 16 else f"{value[:16].hex()}… ({len(value)} bytes)"
    if isinstance(value, dict):
        return ", ".join(f"{name} {show_value(item)}" for name, item in value.items())
    if isinstance(value, list):
        more = f", … ({count(len(value))})" if len(value) > _MAX_ITEMS else ""
        return "[" + ", ".join(map(show_value, value[:_MAX_ITEMS])) + more + "]"
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
