"""`latticework bench peers`: our core beside OpenFHE and Microsoft SEAL."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from bench.peers.compare import Findings, compare, rows
from bench.peers.environments import PEERS
from bench.peers.process import processors
from bench.peers.turns import Effort
from bench.peers.workers.sets import BFV, CKKS, NTT_LOG2_DEGREES
from bench.rows import report, show
from latticework.params import modulus_limit_bits

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
BOOT_LOG2_DEGREE = 16
EFFORTS = {"c": Effort(rounds=3, seconds=0.5)}
BOOT_EFFORT = Effort(rounds=2, seconds=0.0)


@app.command()
def peers(
    sets: Annotated[str, typer.Option(help="CKKS sets: a, b, c, separated by commas.")] = "a,b,c",
    schemes: Annotated[str, typer.Option(help="ntt, ckks, bfv, separated by commas.")] = "ntt,ckks,bfv",
    against: Annotated[str, typer.Option(help="Peers: openfhe, seal.")] = ",".join(p.name for p in PEERS),
    boot: Annotated[bool, typer.Option("--boot", help="Bootstrapping too, at N=2^16: needs 14 GB.")] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads of every library.")] = 1,
    rounds: Annotated[int, typer.Option(min=0, help="Turns of every operation; 0 by set.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time our core beside OpenFHE and SEAL, in turns, on the same ring degrees and numbers of limbs."""
    asked = [(scheme, name) for scheme in _listed(schemes, ("ntt", "ckks", "bfv")) for name in _names(scheme, sets)]
    asked += [("boot", str(BOOT_LOG2_DEGREE))] * boot
    chosen = tuple(_listed(against, tuple(p.name for p in PEERS)))
    findings = []
    with err.status("starting") as status:
        for scheme, name in asked:
            effort = BOOT_EFFORT if scheme == "boot" else EFFORTS.get(name, Effort())
            if rounds:
                effort = Effort(rounds, effort.seconds)
            findings.append(compare(scheme, name, threads, effort, _able(scheme, chosen), status.update))
    show(report("peers", [row for found in findings for row in rows(found)], conditions(findings, threads)), json)


def _able(scheme: str, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """Peers that offer a scheme at all: OpenFHE's package has no transforms, SEAL no bootstrapping."""
    lacking = {"ntt": "openfhe", "boot": "seal"}.get(scheme)
    return tuple(name for name in chosen if name != lacking)


def _names(scheme: str, sets: str) -> list[str]:
    if scheme == "ckks":
        return _listed(sets, tuple(CKKS))
    return list(BFV) if scheme == "bfv" else [str(n) for n in NTT_LOG2_DEGREES]


def _listed(text: str, allowed: tuple[str, ...]) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in allowed:
            raise typer.BadParameter(f"{name} is none of {', '.join(allowed)}")
    return names


def conditions(findings: list[Findings], threads: int) -> dict[str, Any]:
    """How the figures came about."""
    said: dict[str, Any] = {
        "threads": threads,
        "processors": processors(threads),
        "time": "median processor time of the process" if threads == 1 else "median wall time",
        "order": "ours, peer, ours, peer, ...; each library in a process of its own, bound to the same processors",
        "sets": {f"{f.scheme} {f.name}": f.facts for f in findings},
        "primes": "ours have at most 49 bits, the peers' up to 60: see log2_q, and time per modulus bit in the details",
    }
    below = [f"{f.scheme} {f.name} {side}" for f in findings for side in f.facts if not _is_secure(f.facts[side])]
    if below:
        said["below 128 bits of security at these sizes"] = below
    return said


def _is_secure(facts: dict[str, Any]) -> bool:
    if "log2_qp" not in facts:
        return True
    limit = modulus_limit_bits(1 << facts["log2_degree"], 128)
    return limit is not None and facts["log2_qp"] <= limit
