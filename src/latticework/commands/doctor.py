"""`doctor`: what this installation is, whether it computes rightly, and whether files in a folder belong together."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from latticework import __version__
from latticework.commands.command_output import DONE, REFUSED, CommandOutput, Outcome
from latticework.commands.machine.health import check_kernels, list_caches, list_devices, list_kernels, list_packages
from latticework.commands.machine.machine_description import describe_machine
from latticework.commands.machine.machine_measurement import default_place
from latticework.report.folder_files import FolderFile, Mismatch, find_mismatches, read_folder
from latticework.report.quantities import size
from latticework.report.text_table import columns

SHOWN = 8  # digits of a number that names parameters, compilations and key sets
PORTABLE = "ref"  # the backend that needs no set of instructions


def doctor(talk: CommandOutput, folder: Path | None) -> Outcome:
    """Look at the installation, and at a folder if one is given; see the table of commands.

    The exit status is 1 if kernels compute wrongly or files do not fit together.

    raises  NotADirectoryError
    """
    if folder is not None and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is no folder; give one that holds plans, keys or ciphertexts")
    files = [] if folder is None else read_folder(folder)
    mismatches = find_mismatches(files)
    kernels, table = list_kernels(), default_place()
    with talk.step("checking kernels"):
        found = check_kernels([name for name, is_here in kernels.items() if is_here])
    wrong = {name: text for name, text in found.items() if text}
    facts: dict[str, Any] = {
        "version": __version__,
        "python": platform.python_version(),
        "machine": {**describe_machine(), "architecture": platform.machine(), "system": platform.system()},
        "kernels": kernels,
        "wrong": wrong,
        "devices": list_devices(),
        "packages": {name: {"version": is_at, "extra": extra} for name, (is_at, extra) in list_packages().items()},
        "caches": list_caches(),
        "cost_table": str(table) if table.is_file() else None,
    }
    lines = _installation_lines(facts)
    if folder is not None:
        facts["files"] = [_file_facts(file) for file in files]
        facts["mismatches"] = [
            {"files": list(map(str, m.files)), "text": m.text, "remedy": m.remedy} for m in mismatches
        ]
        lines += _folder_lines(folder, files, mismatches)
    facts["problems"] = len(wrong) + len(mismatches)
    return Outcome(facts, tuple(lines), status=REFUSED if facts["problems"] else DONE)


def _installation_lines(facts: dict[str, Any]) -> list[str]:
    """The installation, for people: what is there, what is wrong, and the command that helps."""
    machine, kernels, wrong = facts["machine"], facts["kernels"], facts["wrong"]
    here = [name for name, is_here in kernels.items() if is_here]
    rows = [
        ("latticework", facts["version"]),
        ("Python", f"{facts['python']}, {machine['system']} on {machine['architecture']}"),
        ("machine", f"{machine['cpu']}; {machine['cores']} cores, {machine['memory_gb']} GiB"),
        ("kernels", "; also ".join([f"{here[0]} (the fastest here)", *([", ".join(here[1:])] if here[1:] else [])])),
        *(("", f"{name} does not run on this processor") for name, is_here in kernels.items() if not is_here),
    ]
    if here[0] == PORTABLE:
        rows.append(("", "portable integers alone, many times slower: docs/benchmarks.md names the processors"))
    rows.append(("computes", "rightly, the same bytes with all of them" if not wrong else "WRONGLY: see below"))
    rows += [("device", f"{kind}: {text}") for kind, text in facts["devices"].items()]
    rows += [("package", _describe_package(name, **package)) for name, package in facts["packages"].items()]
    rows += [("cache", f"{path}: {size(held)}") for path, held in facts["caches"].items()]
    rows.append(
        ("prices", f"of times in reports: by {facts['cost_table']}")
        if facts["cost_table"]
        else ("prices", "of times in reports: by a quick probe of this machine; `latticework measure` measures more")
    )
    lines = [f"  {name:<13}{text}" for name, text in rows]
    return lines + [
        f"{name}: {text}. Results of this installation cannot be trusted: install it anew, and report this with the "
        "lines above"
        for name, text in wrong.items()
    ]


def _describe_package(name: str, version: str | None, extra: str) -> str:
    if version is not None:
        return f"{name} {version}" + (f" (for {extra})" if extra else "")
    return f"{name} is not installed" + (f"; where it is wanted: pip install 'latticework[{extra}]'" if extra else "")


def _file_facts(file: FolderFile) -> dict[str, str]:
    return {**asdict(file), "path": str(file.path)}


def _folder_lines(folder: Path, files: Sequence[FolderFile], mismatches: Sequence[Mismatch]) -> list[str]:
    """The files of a folder, for people, and which of them do not fit together."""
    if not files:
        return ["", f"{folder}: no file of latticework; `latticework compile` and `latticework keygen` write some"]
    rows = [
        (
            str(f.path),
            f.role or f.kind or "damaged",
            f.program,
            f.parameters[:SHOWN],
            f.interface[:SHOWN],
            f.key_set[:SHOWN],
        )
        for f in files
    ]
    head = ("file", "kind", "program", "parameters", "interface", "key set")
    lines = ["", f"Files in {folder}", *columns(head, rows, left=(True,) * len(head))]
    for number, each in enumerate(mismatches, 1):
        lines += ["", f"{number}. {each.text}", f"   {each.remedy}"]
    return lines + ([] if mismatches else ["", "All of them fit together."])
