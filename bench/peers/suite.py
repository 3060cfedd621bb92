"""`latticework bench peers`: our core beside OpenFHE and Microsoft SEAL."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console

from bench.peers.boot import LOG2_DEGREE, boot_rows, compare_boot
from bench.peers.compare import Findings, compare, is_secure, rows
from bench.peers.environments import PEERS
from bench.peers.installation import ORDERS, compiled, installation
from bench.peers.process import processors
from bench.peers.turns import Effort
from bench.peers.workers.sets import BFV, CKKS, NTT_LOG2_DEGREES
from bench.rows import report, show

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
EFFORTS = dict.fromkeys(("c", "c3", "c2"), Effort(rounds=3, seconds=0.5))
BOOT_ROUNDS = 2


@app.command()
def peers(
    sets: Annotated[str, typer.Option(help=f"CKKS sets: {', '.join(CKKS)}, separated by commas.")] = "a,b,c,c3,c2",
    schemes: Annotated[str, typer.Option(help="ntt, ckks, bfv, separated by commas.")] = "ntt,ckks,bfv",
    against: Annotated[str, typer.Option(help="Peers: openfhe, seal.")] = ",".join(p.name for p in PEERS),
    boot: Annotated[bool, typer.Option("--boot", help="Bootstrapping too: needs 14 GB.")] = False,
    boot_degree: Annotated[int, typer.Option(help="log2 of its ring degree; 11 and 12 are quick and INSECURE.")] = (
        LOG2_DEGREE
    ),
    openfhe: Annotated[
        Path | None, typer.Option(help="Prefix of an OpenFHE of your own, built for this machine: timed too.")
    ] = None,
    order: Annotated[str, typer.Option(help=f"Of that one's bootstraps: {' or '.join(ORDERS)}.")] = ORDERS[0],
    threads: Annotated[int, typer.Option(min=1, help="Threads of every library.")] = 1,
    rounds: Annotated[int, typer.Option(min=0, help="Turns of every operation; 0 by set.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time our core beside OpenFHE and SEAL, in turns, on the same ring degrees and numbers of limbs."""
    asked = [(scheme, name) for scheme in _listed(schemes, ("ntt", "ckks", "bfv")) for name in _names(scheme, sets)]
    chosen = tuple(_listed(against, tuple(p.name for p in PEERS)))
    _listed(order, ORDERS)
    if openfhe is not None:
        installation(openfhe)
    findings, shown = [], []
    with err.status("starting") as status, TemporaryDirectory(prefix="latticework-peers-") as folder:
        status.update("compiling for your OpenFHE")
        native = None if openfhe is None else compiled(openfhe, order, Path(folder))
        for scheme, name in asked:
            effort = EFFORTS.get(name, Effort())
            if rounds:
                effort = Effort(rounds, effort.seconds)
            findings.append(compare(scheme, name, threads, effort, _able(scheme, chosen), status.update, native))
            shown += rows(findings[-1])
        if boot:
            turns = rounds or BOOT_ROUNDS
            found, figures = compare_boot(boot_degree, threads, turns, _able("boot", chosen), status.update, native)
            findings.append(found)
            shown += boot_rows(found, figures)
    show(report("peers", shown, conditions(findings, threads)), json)


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
        "order": "ours, peer, ours, peer, ...; each library in a process of its own, bound to the same processors; "
        "bootstraps one library after the other",
        "sets": {f"{f.scheme} {f.name}": f.facts for f in findings},
        "primes": "ours have at most 49 bits, the peers' up to 60: see log2_q, and time per modulus bit in the details",
    }
    below = [f"{f.scheme} {f.name} {side}" for f in findings for side in f.facts if not is_secure(f.facts[side])]
    if below:
        said["below 128 bits of security at these sizes"] = below
    return said
