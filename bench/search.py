"""Search by an encrypted query, as `examples/minilm_search.py` does it: how close to PyTorch's, and how long it takes.

python -m bench.search FOLDER [--encrypted 1] [--simulated 20] [--memory 12GB] [--output FILE]

FOLDER is the example's, with a plan and keys. The first few queries run encrypted, more are simulated with noise. What
is sent and returned stays there, so that a run that is killed goes on when it is called again, without its time.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import latticework as lw
from bench.compiling import peak_bytes
from bench.reports import Row, report
from bench.zoo import minilm, minilm_search
from latticework.progress import ProgressBar

CLOSEST = 10
Ranking = tuple[Any, Any]  # an embedding, and cosines with the corpus


def ranked(embedding: Any, products: Any) -> Ranking:
    """From a model's two results."""
    return np.asarray(embedding), np.asarray(products) / np.linalg.norm(embedding)


def compare(name: str, found: list[Ranking], exact: list[Ranking]) -> list[Row]:
    """Rankings beside PyTorch's: a tie is near where the first two of PyTorch's differ by less than we are off."""
    cosines = [float(minilm.cosine(a[0][None], b[0][None])) for a, b in zip(found, exact, strict=True)]
    off = max(float(np.abs(a[1] - b[1]).max()) for a, b in zip(found, exact, strict=True))
    lead = [float(np.diff(np.sort(each[1])[-2:])[0]) for each in exact]
    same = [int(np.argmax(a[1]) == np.argmax(b[1])) for a, b in zip(found, exact, strict=True)]
    clear = [is_same for is_same, ahead in zip(same, lead, strict=True) if ahead > 2 * off]
    shared = [len(set(_closest(a)) & set(_closest(b))) for a, b in zip(found, exact, strict=True)]
    details = {"queries": len(found), "cosines": cosines, "lead of the first": lead, "same first": same}
    return [
        Row(name, "1 - cosine of embeddings, most", "", 1 - min(cosines), target=0.001, checked=True, details=details),
        Row(name, "cosine with a sentence, off by at most", "", off, checked=True),
        Row(name, "same first, of those without a near tie", "of 1", sum(clear) / max(len(clear), 1), better="higher",
            target=1.0, checked=True, details={"queries": len(clear)}),
        Row(name, "same first, of all", "of 1", sum(same) / len(same), better="higher", checked=True),
        Row(name, "same among the first ten, least", "of 10", min(shared), better="higher", checked=True),
    ]  # fmt: skip


def _closest(ranking: Ranking) -> list[int]:
    return [int(number) for number in np.argsort(-ranking[1])[:CLOSEST]]


def run(folder: Path, queries: tuple[str, ...], memory: str, threads: int) -> tuple[list[Ranking], list[Row]]:
    """Run some queries encrypted on one server."""
    client = lw.Client.load(folder / "client" / "search.lwclient")
    client.load_keys(folder / "client" / "keys")
    server = lw.Server.load(
        folder / "server" / "search.lwplan", folder / "client" / "keys" / "evaluation.lwkeys", memory=memory,
        threads=threads,
    )  # fmt: skip
    found, walls, processors = [], [], []
    for number, query in enumerate(queries):
        sent, answer, checkpoint = (folder / "server" / f"bench-{number}.{end}" for end in ("lwct", "result", "ckpt"))
        if not sent.exists():
            client.encrypt(*minilm.padded(query)).save(sent)
        is_whole, given = not checkpoint.exists(), server.load_encrypted(sent)
        wall, processor = time.perf_counter(), time.process_time()
        with ProgressBar(query) as bar:
            result = server(given, checkpoint=checkpoint, on_event=bar)
        walls.append(time.perf_counter() - wall if is_whole else None)
        processors.append(time.process_time() - processor if is_whole else None)
        result.save(answer)
        found.append(ranked(*(each.reveal() for each in client.decrypt(result))))
    details = {"wall, s": walls, "processor, s": processors, "memory": memory, "threads": threads}
    return found, [
        Row("encrypted", "first run, wall", "s", walls[0], target=240.0, checked=True, details=details),
        Row("encrypted", "first run, processor", "s", processors[0], checked=True),
        Row("encrypted", "peak memory of the process", "MB", peak_bytes() / 1e6, checked=True),
    ]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--encrypted", type=int, default=1, help="queries that are run")
    parser.add_argument("--simulated", type=int, default=len(minilm_search.QUERIES), help="queries that are simulated")
    parser.add_argument("--memory", default="12GB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    network, queries = minilm.layers(), minilm_search.QUERIES[: max(given.encrypted, given.simulated)]
    corpus = np.load(given.folder / "server" / "corpus.npy")
    exact = [ranked(each, corpus @ each) for each in (minilm_search.embedding(network, query) for query in queries)]
    rows: list[Row] = []
    if given.encrypted:
        found, rows = run(given.folder, queries[: given.encrypted], given.memory, given.threads)
        rows += compare("encrypted", found, exact[: given.encrypted])
    model = lw.Model.load(given.folder / "server" / "search.lwplan")
    simulated = [
        ranked(*model.simulate(*minilm.padded(query), noise=np.random.default_rng(seed)))
        for seed, query in enumerate(queries[: given.simulated])
    ]
    if simulated:
        rows += compare("simulated with noise", simulated, exact[: given.simulated])
    conditions = {"queries": list(queries), "corpus": len(corpus)}
    content = json.dumps(report("search", rows, conditions), indent=1)
    print(content)
    if given.output is not None:
        given.output.write_text(content + "\n")


if __name__ == "__main__":
    main()
