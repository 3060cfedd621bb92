"""scikit-learn's estimators on encrypted rows, with nothing but `precision_bits` given: do they keep their scores?

    python -m bench.estimators [--json FILE] [CASE ...]

Each is trained in the clear, its `predict` written as a program, compiled on the training rows, and run encrypted on
all held-out rows, 64 at a time. Scores are those of the program in NumPy, its functions exact, and of the decrypted
results, against the same labels. Clients scale rows and clip them to the range of the training rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import latticework as lw

ROWS, SEED, WITHIN = 64, 7, 0.005
Array = Any
Program = Callable[[Array], Array]
Score = Callable[[Array, Array, Array], float]  # of results, rows and labels


@dataclass(frozen=True)
class Result:
    """One estimator on one set of data."""

    case: str
    rows: int
    plain_score: float
    encrypted_score: float
    precision_bits: float
    degrees: list[int]
    levels: int
    ring_degree: int
    compile_seconds: float
    seconds_a_row: float

    @property
    def is_kept(self) -> bool:
        """Whether the score is within half a percent."""
        return abs(self.plain_score - self.encrypted_score) <= WITHIN


def data_of(name: str) -> tuple[Array, Array, Array, Array]:
    """(training rows, held-out rows, training labels, held-out labels), scaled by the training rows."""
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    load = load_digits if name == "digits" else load_breast_cancer
    x, y = load(return_X_y=True)
    parts = train_test_split(x, y, test_size=0.25, random_state=SEED, stratify=y)
    if name == "digits":
        return parts[0] / 16, parts[1] / 16, parts[2], parts[3]
    scaler = StandardScaler().fit(parts[0])
    return np.clip(scaler.transform(parts[0]), -4, 4), np.clip(scaler.transform(parts[1]), -4, 4), parts[2], parts[3]


def right(results: Array, _: Array, labels: Array) -> float:
    """Accuracy of the place of the largest, or of one number by its sign."""
    found = results.reshape(len(labels), -1)
    classes = found.argmax(axis=1) if found.shape[1] > 1 else found[:, 0] > 0
    return float(np.mean(classes == labels))


def likely(results: Array, _: Array, labels: Array) -> float:
    """Accuracy of probabilities."""
    found = results.reshape(len(labels), -1)
    return float(np.mean((found.argmax(axis=1) if found.shape[1] > 1 else found[:, 0] > 0.5) == labels))


Case = tuple[Program, float, Score]


def logistic(x: Array, y: Array) -> Case:
    """LogisticRegression: classes by the largest score."""
    from sklearn.linear_model import LogisticRegression

    made = LogisticRegression(max_iter=5000).fit(x, y)
    weights, bias = made.coef_.T, made.intercept_
    return lambda rows: rows @ weights + bias, 12, right


def probabilities(x: Array, y: Array) -> Case:
    """LogisticRegression: probabilities, of two classes by sigmoid, of one class against the rest for digits."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    made = OneVsRestClassifier(LogisticRegression(max_iter=5000)).fit(x, y)
    weights = np.stack([each.coef_[0] for each in made.estimators_], axis=1)
    bias = np.concatenate([each.intercept_ for each in made.estimators_])
    return lambda rows: lw.sigmoid(rows @ weights + bias), 12, likely


def network(activation: str, bits: float) -> Callable[[Array, Array], Case]:
    """MLPClassifier of one hidden layer of 32."""

    def case(x: Array, y: Array) -> Case:
        from sklearn.neural_network import MLPClassifier

        made = MLPClassifier((32,), activation=activation, alpha=1e-2, max_iter=2000, random_state=SEED).fit(x, y)
        (w1, w2), (b1, b2) = made.coefs_, made.intercepts_
        function = getattr(lw, activation)
        return lambda rows: function(rows @ w1 + b1) @ w2 + b2, bits, right

    return case


def support_vectors(x: Array, y: Array) -> Case:
    """LinearSVC."""
    from sklearn.svm import LinearSVC

    made = LinearSVC(random_state=SEED, max_iter=20000).fit(x, y)
    weights, bias = made.coef_.T, made.intercept_
    return lambda rows: rows @ weights + bias, 12, right


def components(x: Array, _: Array) -> Case:
    """PCA: the share of the variance that is got back from ten components."""
    from sklearn.decomposition import PCA

    made = PCA(10, random_state=SEED).fit(x)
    axes, mean = made.components_.T, made.mean_

    def kept(found: Array, rows: Array, _: Array) -> float:
        back = found @ axes.T + mean
        return float(1 - np.sum((rows - back) ** 2) / np.sum((rows - rows.mean(axis=0)) ** 2))

    return lambda rows: (rows - mean) @ axes, 12, kept


def clusters(x: Array, y: Array) -> Case:
    """KMeans: distances to the centres; each cluster stands for the label that most of its rows have."""
    from sklearn.cluster import KMeans

    made = KMeans(2 * len(np.unique(y)), random_state=SEED, n_init=10).fit(x)
    centres = made.cluster_centers_
    names = np.array([np.bincount(y[made.labels_ == k]).argmax() for k in range(len(centres))])

    def nearest(found: Array, _: Array, labels: Array) -> float:
        return float(np.mean(names[found.argmin(axis=1)] == labels))

    def distances(rows: Array) -> Array:
        return np.sum(rows * rows, axis=1, keepdims=True) - rows @ (2 * centres.T) + np.sum(centres**2, axis=1)

    return distances, 12, nearest


ESTIMATORS = {
    "LogisticRegression": logistic,
    "LogisticRegression, probabilities": probabilities,
    "MLPClassifier, relu": network("relu", 7),
    "MLPClassifier, tanh": network("tanh", 12),
    "LinearSVC": support_vectors,
    "PCA": components,
    "KMeans": clusters,
}
CASES = [f"{name}: {data}" for name in ESTIMATORS for data in ("digits", "breast cancer")]


def measured(case: str, *, most_rows: int | None = None, **options: Any) -> Result:
    """Train, compile and run one case encrypted.

    most_rows  of the held-out ones;  options  of `lw.compile`, beside `precision_bits`
    """
    name, _, data = case.rpartition(": ")
    x, held_out, y, labels = data_of(data)
    function, bits, score = ESTIMATORS[name](x, y)
    held_out, labels = held_out[:most_rows], labels[:most_rows]
    kind = lw.Secret[ROWS, x.shape[1]]

    def program(rows: kind) -> Any:  # type: ignore[valid-type]
        return function(rows)

    started = time.perf_counter()
    low, high = x.min(axis=0), x.max(axis=0)
    model = lw.compile(lw.program(program), calibrate=x, precision_bits=bits, **options)
    compile_seconds = time.perf_counter() - started
    client = model.client()
    server = model.server(client.keygen().public())
    sent = client.encrypt(np.clip(held_out, low, high))
    started = time.perf_counter()
    answers = server(sent)
    seconds = time.perf_counter() - started
    found = client.decrypt(answers).reveal()
    plan = model.plan
    return Result(
        case, len(labels), score(function(held_out), held_out, labels), score(found, held_out, labels), bits,
        [a.degree for a in plan.approximations], plan.chain.main.top, plan.chain.ring_degree, compile_seconds,
        seconds / len(labels),
    )  # fmt: skip


def main() -> int:
    """Print the table; returns 1 if a score is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="parts of names of cases; all if not given")
    parser.add_argument("--json", type=Path, help="file to write")
    given = parser.parse_args()
    chosen = [case for case in CASES if not given.cases or any(part in case for part in given.cases)]
    print(f"{'case':48} rows  plain   encr.   bits degree levels log2N  compile s  ms/row")
    results = []
    for case in chosen:
        r = measured(case)
        results.append(r)
        degrees = ", ".join(map(str, r.degrees)) or "-"
        print(
            f"{case:48} {r.rows:4}  {r.plain_score:.4f}  {r.encrypted_score:.4f}  {r.precision_bits:4g} {degrees:>6} "
            f"{r.levels:6} {r.ring_degree.bit_length() - 1:5}  {r.compile_seconds:9.2f}  {1e3 * r.seconds_a_row:6.2f}",
            flush=True,
        )
    if given.json:
        rows = [asdict(r) | {"is_kept": r.is_kept} for r in results]
        given.json.write_text(json.dumps({"date": str(date.today()), "within": WITHIN, "rows": rows}, indent=1) + "\n")
    return 0 if all(r.is_kept for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
