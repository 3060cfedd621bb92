"""An OpenFHE that the user built and installed: what it is, and our worker compiled for it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.peers.process import WORKERS, Library
from bench.peers.workers.sets import CKKS
from latticework.errors import UserError

NATIVE = "openfhe native"
ORDERS = ("stc-first", "modraise-first")
SCALE_BITS = 59  # of a level, in its bootstraps
BUDGET, DIGITS = (4, 4), 3  # levels of CoeffToSlot and SlotsToCoeff, digits of its keys: the quickest of those tried
SOURCE = WORKERS / "openfhe_native.cpp"
ENTRY = re.compile(r'set\((?P<name>\w+) "?(?P<value>[^")]*)"?\)')
HEXL = re.compile(r"^#define WITH_INTEL_HEXL", re.MULTILINE)


@dataclass(frozen=True)
class Installation:
    """What a prefix holds.

    about  version, compiler and options, as rows name it
    flags  of the compiler, for code that uses it
    links  libraries that its headers call, beside its own
    """

    include: Path
    libraries: Path
    about: str
    flags: tuple[str, ...]
    links: tuple[str, ...]


def installation(prefix: Path) -> Installation:
    """What was installed to a prefix.

    raises  UserError if that is no OpenFHE with shared libraries
    """
    prefix = prefix.resolve()
    config = next(prefix.glob("lib*/**/OpenFHEConfig.cmake"), None)
    library = next(prefix.glob("lib*/libOPENFHEpke.*"), None)
    header = prefix / "include" / "openfhe" / "core" / "config_core.h"
    for what, found in (("lib/OpenFHE/OpenFHEConfig.cmake", config), ("lib/libOPENFHEpke.so", library)):
        if found is None or not header.is_file():
            lacking = what if found is None else header.relative_to(prefix)
            raise UserError(
                f"bench peers: --openfhe {prefix} is no installation of OpenFHE: {lacking} is not there. Build it with "
                f"-DWITH_NATIVEOPT=ON -DCMAKE_INSTALL_PREFIX={prefix}, and install it with cmake --install"
            )
    assert config is not None and library is not None
    entries = {m["name"]: m["value"].strip() for m in ENTRY.finditer(config.read_text())}
    is_native = entries.get("OpenFHE_NATIVEOPT") == "ON"
    has_hexl = HEXL.search(header.read_text()) is not None
    parts = [
        f"{entries.get('OpenFHE_CXX_COMPILER_ID', '?')} {entries.get('OpenFHE_CXX_COMPILER_VERSION', '?')}",
        "for this machine (NATIVEOPT)" if is_native else "NOT for this machine (no NATIVEOPT)",
        "with HEXL" if has_hexl else "without HEXL",
    ]
    about = f"OpenFHE {entries.get('BASE_OPENFHE_VERSION', '?')}, built by {', '.join(parts)}"
    flags = [flag for flag in shlex.split(entries.get("OpenFHE_CXX_FLAGS", "")) if not flag.startswith("-W")]
    links = ("-lhexl",) if has_hexl else ()
    return Installation(prefix / "include", library.parent, about, tuple(flags), links)


@dataclass(frozen=True)
class Native:
    """Our worker for an installation.

    order  of its bootstraps, one of ORDERS
    """

    about: str
    program: Path
    order: str

    def ckks(self, name: str, threads: int) -> Library:
        """A set that all libraries are timed on. raises Failed."""
        chosen = CKKS[name]
        sizes = (chosen.log2_degree, chosen.limbs, chosen.scale_bits, chosen.first_bits, chosen.digits)
        return self._started(["ckks", *map(str, sizes)], threads)

    def boot(self, log2_degree: int, slots: str, bits: float, threads: int) -> Library:
        """Bootstraps that leave about as many bits of modulus. raises Failed.

        slots  real or complex
        """
        levels = max(1, round(bits / SCALE_BITS))
        sizes = (levels, *BUDGET, DIGITS)
        return self._started(["boot", str(log2_degree), slots, self.order, *map(str, sizes)], threads)

    def _started(self, arguments: list[str], threads: int) -> Library:
        library = Library(NATIVE, None, str(self.program), arguments, threads)
        library.facts["library"] = self.about
        return library


def compiled(prefix: Path, order: str, folder: Path) -> Native:
    """The worker for what was installed to a prefix, in a folder.

    raises  UserError
    """
    found, program = installation(prefix), folder / "openfhe_native"
    compiler = shlex.split(os.environ.get("CXX") or "c++")
    headers = [found.include, *(found.include / "openfhe" / part for part in ("", "core", "pke", "binfhe"))]
    command = [
        *compiler, "-std=c++17", "-O3", *found.flags, *(word for path in headers for word in ("-isystem", str(path))),
        str(SOURCE), "-o", str(program), f"-L{found.libraries}", f"-Wl,-rpath,{found.libraries}", "-Wl,--no-as-needed",
        "-lOPENFHEpke", "-lOPENFHEbinfhe", "-lOPENFHEcore", *found.links,
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UserError(f"bench peers: --openfhe needs a C++ compiler, and {compiler[0]}: {error.strerror}") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        raise UserError(
            f"bench peers: {SOURCE.name} does not compile with {found.about} at {prefix}: "
            f"{(errors or ['no message'])[0][:300]}; CXX chooses the compiler"
        )
    return Native(found.about, program, order)
