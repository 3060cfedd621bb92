"""The first encoder layer of all-MiniLM-L6-v2 on an encrypted sentence; all six, simulated on many.

python -m examples.models.minilm --plan minilm.lwplan [--encrypted --memory 14GB]
python -m examples.models.minilm --plan whole.lwplan --whole 200

The client cuts a sentence into word pieces and embeds them, with the vocabulary and the table that the model's package
carries, and encrypts 32 x 384 numbers. The server computes attention in twelve heads, two layer norms and a GELU of
1536, all as polynomials between bootstraps. Padding is public: a plan is for sentences of 28 tokens.

The package is fetched once (`bench/zoo/packages.py`). Compiling takes minutes, so the plan is kept. It is simulated
with its noise; with --encrypted it is run, which takes gigabytes of keys and minutes. With --whole the network is
calibrated on every other sentence, code in them too, and simulated on so many of the rest, nine seconds each: what the
owner makes of the tokens, their mean, is compared with that of PyTorch.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import latticework as lw
from bench.zoo import minilm
from bench.zoo.models.minilm import CALIBRATED, OPTIONS

WHOLE_CALIBRATED, WHOLE_BITS = 240, 4  # sentences, and what noise leaves of the largest number after six layers
AT_ONCE = 20  # sentences that are simulated side by side


def compiled(layer: torch.nn.Module, x: np.ndarray, plan: Path, **options: Any) -> lw.Model:
    """The plan in the file, or one that is made and kept there."""
    if not plan.exists():
        program = lw.from_torch(layer, torch.from_numpy(x[0]))
        lw.compile(program, calibrate=x, **{**OPTIONS, **options}).save(plan)
    return lw.Model.load(plan)


def simulated(model: lw.Model, x: np.ndarray, seed: int = 0) -> np.ndarray:
    """Results of (32, 384), or several of them, with noise as encrypted runs have it."""
    return np.asarray(model.simulate(x, noise=np.random.default_rng(seed))[0])


def run(model: lw.Model, x: np.ndarray, memory: str) -> tuple[np.ndarray, np.ndarray]:
    """Results decrypted, and by how much each may be off."""
    client = model.client()
    server = model.server(client.keygen().public(), memory=memory)
    started = time.perf_counter()
    y = client.decrypt(server(client.encrypt(x)))
    print(f"encrypted in {time.perf_counter() - started:.0f} s")
    return y.reveal(), y.error_bound


def whole(plan: Path, count: int) -> None:
    """Six layers, simulated on so many sentences that calibration did not see."""
    network, x = minilm.layers(), minilm.embeddings(minilm.sentences(quoting=True))
    model = compiled(network, x[::2][:WHOLE_CALIBRATED], plan, precision_bits=WHOLE_BITS)
    tokens, embeddings = [], []
    new = x[1::2][:count]
    for first in range(0, len(new), AT_ONCE):
        found = simulated(model, new[first : first + AT_ONCE], first)
        with torch.no_grad():
            exact = np.stack([network(torch.from_numpy(each)).numpy() for each in new[first : first + AT_ONCE]])
        tokens += minilm.cosine(found, exact).tolist()
        embeddings += minilm.cosine(minilm.embedding(found), minilm.embedding(exact)).tolist()
        print(f"{len(tokens)} sentences", flush=True)
    for name, cosines in (("tokens", tokens), ("embeddings", embeddings)):
        print(f"{name}: cosine with PyTorch's {min(cosines):.6f} at least, {np.median(cosines):.6f} in the middle")


def main() -> None:
    """Compile, simulate and run, beside PyTorch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", type=Path, default=Path("minilm.lwplan"), help="where the plan is kept")
    parser.add_argument("--encrypted", action="store_true", help="run it too")
    parser.add_argument("--memory", default="14GB", help="for the server's keys, weights and ciphertexts")
    parser.add_argument("--whole", type=int, metavar="N", help="all six layers, simulated on N sentences")
    asked = parser.parse_args()
    if asked.whole:
        whole(asked.plan, asked.whole)
        return
    texts, layer = minilm.sentences(), minilm.layers(1)[0]
    x = minilm.embeddings(texts)
    model, new = compiled(layer, x[:CALIBRATED], asked.plan), x[CALIBRATED]  # a sentence that calibration did not see
    with torch.no_grad():
        exact = layer(torch.from_numpy(new)).numpy()
    print(texts[CALIBRATED])
    print(f"simulated: cosine with PyTorch's {minilm.cosine(simulated(model, new), exact):.6f}")
    if asked.encrypted:
        y, bound = run(model, new, asked.memory)
        print(f"encrypted: cosine with PyTorch's {minilm.cosine(y, exact):.6f}")
        print(f"off by {np.abs(y - exact).max():.3g} at most, of {np.max(bound):.3g} that it may be")


if __name__ == "__main__":
    main()
