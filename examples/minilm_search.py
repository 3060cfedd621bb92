"""Search by meaning: an encrypted query among a thousand public sentences, by all six layers of MiniLM.

python -m examples.minilm_search "how do I open a file" --folder search

The client embeds the words of its query and encrypts them, with weights that hide how many there are. The server,
which never sees the query, computes six encoder layers with the weights of all-MiniLM-L6-v2, the query's embedding, and
its products with embeddings of a thousand sentences of Python's own reference. Only the client can read the results.

Each step writes files and is passed over where they are there, so the same command goes on after an interruption, the
run itself from its last checkpoint. `--only encrypt` takes one step. docs/tutorials/search.md says what each takes, and
what to expect; the model is fetched once (`bench/zoo/packages.py`).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

import latticework as lw
from bench.zoo import minilm, minilm_search
from latticework.progress import ProgressBar

CLOSE = 0.999  # cosine with PyTorch's embedding, of queries like those of calibration
SHOWN = 10  # of the sentences that are closest
MEMORY = "11.5GB"  # of the server's keys, weights and ciphertexts: 12 GB with Python and what this file imports


class Folders:
    """Files of the two sides; those of a query have its number in the client's list."""

    def __init__(self, root: Path, query: str) -> None:
        client, server = root / "client", root / "server"
        client.mkdir(parents=True, exist_ok=True)
        server.mkdir(exist_ok=True)
        self.client_file, self.keys = client / "search.lwclient", client / "keys"
        self.plan, self.corpus = server / "search.lwplan", server / "corpus.npy"
        asked = client / "queries.txt"
        queries = asked.read_text().splitlines() if asked.exists() else []
        if query not in queries:
            queries.append(query)
            asked.write_text("\n".join(queries) + "\n")
        name = f"{queries.index(query)}"
        self.sent, self.checkpoint, self.result = (server / f"{name}.{end}" for end in ("lwct", "ckpt", "result.lwct"))


def compile_plan(files: Folders) -> None:
    """The owner of the model, once: a plan for servers, and the client's part of it."""
    if files.client_file.exists():
        return
    network = minilm.layers()
    if not files.corpus.exists():
        print(f"PyTorch embeds {minilm_search.CORPUS} sentences", flush=True)
        partial = files.corpus.with_name("partial.npy")  # whole, or not there by its name
        np.save(partial, minilm_search.corpus_embeddings(network, minilm_search.corpus_sentences()))
        partial.replace(files.corpus)
    embeddings = np.load(files.corpus)
    print("compiling six layers, which takes minutes", flush=True)
    model = minilm_search.compiled(network, embeddings)
    model.save(files.plan)
    model.client().save(files.client_file)


def make_keys(files: Folders) -> None:
    """The client, once: a secret key, and evaluation keys for the server, of which it then gets the file."""
    if (files.keys / "evaluation.lwkeys").exists():
        return
    with ProgressBar("making keys") as bar:
        lw.Client.load(files.client_file).keygen(files.keys, on_event=bar)


def encrypt(files: Folders, query: str) -> None:
    """The client: embedded tokens and their weights, encrypted."""
    if files.sent.exists():
        return
    print("encrypting the query", flush=True)
    client = lw.Client.load(files.client_file)
    client.load_keys(files.keys)
    client.encrypt(*minilm.padded(query)).save(files.sent)


def run(files: Folders, memory: str, threads: int) -> None:
    """The server: six layers, the embedding and all products; a run that was killed goes on from its checkpoint."""
    if files.result.exists():
        return
    started = time.perf_counter()
    server = lw.Server.load(files.plan, files.keys / "evaluation.lwkeys", memory=memory, threads=threads)
    if files.checkpoint.exists():
        print("loading, to go on from the checkpoint", flush=True)
    with ProgressBar("searching") as bar:
        checkpoint = lw.Checkpoint(files.checkpoint, keep=True)
        server(server.load_encrypted(files.sent), checkpoint=checkpoint, on_event=bar).save(files.result)
    files.checkpoint.unlink()
    print(f"searched in {time.perf_counter() - started:.0f} s")


def decrypt(files: Folders) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The client: the embedding, and cosines with all sentences."""
    client = lw.Client.load(files.client_file)
    client.load_keys(files.keys)
    embedding, products = (found.reveal() for found in client.decrypt(client.load_encrypted(files.result)))
    return embedding, products / np.linalg.norm(embedding)


def show(files: Folders, query: str) -> None:
    """The closest sentences, beside what PyTorch says of the query that is not encrypted."""
    embedding, cosines = decrypt(files)
    exact = minilm_search.embedding(minilm.layers(), query)
    expected = np.load(files.corpus) @ exact / np.linalg.norm(exact)
    places = np.argsort(np.argsort(-expected))
    cosine = minilm.cosine(embedding[None], exact[None])
    print(f"cosine of the embedding with PyTorch's: {cosine:.6f}")
    if cosine < CLOSE:
        print(f"that is below {CLOSE}: a value left the range of its function, so the result is wrong; ask otherwise")
    print("cosine  PyTorch's  place there")
    sentences = minilm_search.corpus_sentences()
    for number in np.argsort(-cosines)[:SHOWN]:
        print(f"{cosines[number]:.4f}  {expected[number]:.4f}  {places[number] + 1:4}  {sentences[number]}")


def main() -> None:
    """All steps, or one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("query", help="a text of up to 32 word pieces, two of which are marks")
    parser.add_argument("--folder", type=Path, default=Path("search"), help="for all files")
    parser.add_argument("--memory", default=MEMORY, help="for the server's keys, weights and ciphertexts")
    parser.add_argument("--threads", type=int, default=0, help="of the server; 0: one a core")
    steps: dict[str, Callable[[], None]] = {
        "compile": lambda: compile_plan(files),
        "keys": lambda: make_keys(files),
        "encrypt": lambda: encrypt(files, asked.query),
        "run": lambda: run(files, asked.memory, asked.threads),
        "decrypt": lambda: show(files, asked.query),
    }
    parser.add_argument("--only", choices=steps, help="one step")
    asked = parser.parse_args()
    try:
        minilm.padded(asked.query)
    except ValueError as error:  # it is empty, or too long
        parser.error(str(error))
    files = Folders(asked.folder, asked.query)
    for name, step in steps.items():
        if asked.only in (None, name):
            is_compiling = name == "compile" and not files.client_file.exists()
            try:
                step()
            except KeyboardInterrupt:
                sys.exit(f"stopped in {name}: the same command goes on from there")
            if is_compiling and asked.only is None:  # more than a gigabyte stays with the process: go on in a fresh one
                os.execv(sys.executable, [sys.executable, "-m", "examples.minilm_search", *sys.argv[1:]])


if __name__ == "__main__":
    main()
