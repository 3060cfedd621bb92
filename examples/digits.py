"""Handwritten digits under encryption: train a small network, compile it, run it on encrypted test images.

The server sees ciphertexts only. Beside each encrypted result stand the class
by the float network with its own ReLU and by the polynomial network that was
compiled. Ends with status 1 if they do not agree as they should.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import latticework as lw
from latticework.progress import ProgressBar

NUM_IMAGES, HIDDEN, SEED = 64, 32, 7


@lw.program
def score(x: lw.Secret[1, 64], w1, b1, w2, b2):
    h = lw.relu(x @ w1 + b1, degree=15)
    return h @ w2 + b2


@lw.program
def score_batch(x: lw.Secret[NUM_IMAGES, 64], w1, b1, w2, b2):
    h = lw.relu(x @ w1 + b1, degree=15)
    return h @ w2 + b2


def train():
    """(weights, training images, test images, test labels) of a 64-32-10 network."""
    images, labels = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(
        images / 16.0, labels, test_size=0.25, random_state=SEED, stratify=labels
    )
    network = MLPClassifier((HIDDEN,), alpha=1e-2, max_iter=2000, random_state=SEED).fit(x_train, y_train)
    (w1, w2), (b1, b2) = network.coefs_, network.intercepts_
    return (w1, b1, w2, b2), x_train, x_test, y_test, network.score(x_test, y_test)


def run(program, images, weights, x_train, console):
    """Compile, make keys, and evaluate images encrypted; returns (model, logits, times by stage, sizes)."""
    times = {}

    def timed(stage, action):
        started = time.perf_counter()
        result = action()
        times[stage] = time.perf_counter() - started
        return result

    with ProgressBar("compiling", console) as bar:
        model = timed("compile", lambda: lw.compile(program, weights=weights, calibrate=x_train, on_event=bar))
    client = model.client()
    with ProgressBar("making keys", console) as bar:
        keys = timed("keys", lambda: client.keygen(on_event=bar))
    server = model.server(keys.public())
    inputs = timed("encrypt", lambda: client.encrypt(images))
    with ProgressBar("evaluating (first run encodes the weights)", console) as bar:
        timed("first run", lambda: server(inputs, on_event=bar))
    with ProgressBar("evaluating", console) as bar:
        outputs = timed("run", lambda: server(inputs, on_event=bar))
    logits = timed("decrypt", lambda: client.decrypt(outputs).reveal())
    sizes = {
        "evaluation keys, in memory": keys.public().num_bytes,
        "evaluation keys, in a file": model.plan.client.manifest.total_stored_bytes,
        "encrypted input, in a file": len(inputs.to_bytes()),
        "encrypted output, in a file": len(outputs.to_bytes()),
    }
    return model, logits, times, sizes


def compare(console, labels, float_logits, polynomial_logits, encrypted_logits):
    """Print the table; returns whether encrypted, polynomial and float agree as promised."""
    classes = [logits.argmax(axis=1) for logits in (float_logits, polynomial_logits, encrypted_logits)]
    error = np.abs(encrypted_logits - polynomial_logits).max(axis=1)
    largest = np.abs(polynomial_logits).max()
    table = Table(title=f"{len(labels)} encrypted test images")
    for heading in ("image", "label", "float", "polynomial", "encrypted", "largest logit error"):
        table.add_column(heading, justify="right")
    for i, label in enumerate(labels):
        mark = "" if classes[2][i] == label else "  (wrong)"
        table.add_row(str(i), str(label), *(str(c[i]) for c in classes), f"{error[i]:.2e}{mark}")
    console.print(table)
    with_polynomial = int((classes[2] == classes[1]).sum())
    with_float = int((classes[2] == classes[0]).sum())
    count = len(labels)
    console.print(f"encrypted = polynomial network: {with_polynomial} of {count}")
    console.print(f"encrypted = float network:      {with_float} of {count}")
    console.print(f"encrypted = label:              {int((classes[2] == labels).sum())} of {count}")
    console.print(
        f"largest logit error {error.max():.2e}, {error.max() / largest:.4%} of the largest logit ({largest:.1f})"
    )
    return with_polynomial == count and with_float >= count - 1 and error.max() <= 0.01 * largest


def main():
    """Run the demonstration; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="folder for the reports")
    folder = parser.parse_args().output
    console = Console(highlight=False, width=100)
    weights, x_train, x_test, y_test, accuracy = train()
    images, labels = x_test[:NUM_IMAGES], y_test[:NUM_IMAGES]
    console.print(
        f"trained a 64-{HIDDEN}-10 ReLU network on scikit-learn's digits: {accuracy:.1%} right on test images"
    )

    batch, logits, batch_times, batch_sizes = run(score_batch, images, weights, x_train, console)
    single, one, single_times, single_sizes = run(score, images[:1], weights, x_train, console)
    chain = batch.plan.chain
    console.print(
        f"ring degree {chain.ring_degree}, log2(QP) = {chain.log2_qp:.0f}: at least {chain.security_bits}-bit security"
    )
    fitted = batch.plan.approximations[0]
    console.print(
        f"ReLU approximated on [{fitted.low:.2f}, {fitted.high:.2f}] by degree {fitted.degree}, "
        f"off by at most {fitted.max_error:.3f}\n"
    )
    agreed = compare(console, labels, score_batch(images, *weights), batch.plaintext(images)[0], logits) and bool(
        np.abs(one - single.plaintext(images[:1])[0]).max() <= 0.01 * np.abs(one).max()
    )

    summary = Table(title="times and sizes")
    for heading in ("", "one image", f"{NUM_IMAGES} images at once"):
        summary.add_column(heading, justify="right")
    for stage in single_times:
        summary.add_row(f"{stage}, s", f"{single_times[stage]:.3f}", f"{batch_times[stage]:.3f}")
    for name in single_sizes:
        summary.add_row(f"{name}, MB", f"{single_sizes[name] / 1e6:.2f}", f"{batch_sizes[name] / 1e6:.2f}")
    console.print(summary)
    console.print(f"latency for one image: {single_times['run']:.3f} s")
    console.print(f"amortised:             {batch_times['run'] / NUM_IMAGES:.4f} s per image")

    folder.mkdir(parents=True, exist_ok=True)
    for name, model in (("one-image", single), ("batch", batch)):
        target = folder / f"{name}.html"
        model.report().save(target)
        console.print(f"report: {target}")
    report = single.accuracy(x_test, y_test, encrypted=8)
    approximated, simulated = report.columns[1:3]
    console.print(
        f"all {len(x_test)} test images: {approximated.float_score:.1%} right by the float network, "
        f"{simulated.score:.1%} with ReLU approximated and noise; {approximated.agreement:.1%} of classes are the same"
    )
    report.save(folder / "accuracy.html")
    console.print(f"report: {folder / 'accuracy.html'}")
    console.print("all agree" if agreed else "DISAGREEMENT: see the table")
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
