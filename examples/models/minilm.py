"""The first encoder layer of all-MiniLM-L6-v2 on an encrypted sentence.

python examples/models/minilm.py --plan minilm.lwplan [--encrypted --memory 14GB]

The client cuts a sentence into word pieces and embeds them, with the vocabulary and the table that the model's package
carries, and encrypts 32 x 384 numbers. The server computes attention in twelve heads, two layer norms and a GELU of
1536, all as polynomials between bootstraps. Padding is public: a plan is for sentences of 28 tokens.

The package is fetched once (`bench/zoo/packages.py`). Compiling takes minutes, so the plan is kept. It is simulated
with its noise; with --encrypted it is run, which takes gigabytes of keys and minutes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch

import latticework as lw
from bench.zoo import minilm
from bench.zoo.models.minilm import CALIBRATED, OPTIONS


def compiled(layer: torch.nn.Module, x: np.ndarray, plan: Path) -> lw.Model:
    """The plan in the file, or one that is made and kept there."""
    if not plan.exists():
        program = lw.from_torch(layer, torch.from_numpy(x[0]))
        lw.compile(program, calibrate=x, **OPTIONS).save(plan)
    return lw.Model.load(plan)


def simulated(model: lw.Model, x: np.ndarray, seed: int = 0) -> np.ndarray:
    """Results (32, 384) with noise as encrypted runs have it."""
    return np.asarray(model.simulate(x, noise=np.random.default_rng(seed))[0])


def run(model: lw.Model, x: np.ndarray, memory: str) -> tuple[np.ndarray, np.ndarray]:
    """Results decrypted, and by how much each may be off."""
    client = model.client()
    server = model.server(client.keygen().public(), memory=memory)
    started = time.perf_counter()
    y = client.decrypt(server(client.encrypt(x)))
    print(f"encrypted in {time.perf_counter() - started:.0f} s")
    return y.reveal(), y.error_bound


def main() -> None:
    """Compile, simulate and run, beside PyTorch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", type=Path, default=Path("minilm.lwplan"), help="where the plan is kept")
    parser.add_argument("--encrypted", action="store_true", help="run it too")
    parser.add_argument("--memory", default="14GB", help="for the server's keys, weights and ciphertexts")
    asked = parser.parse_args()
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
