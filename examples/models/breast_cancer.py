"""Models of scikit-learn on raw breast cancer data: imported, compiled, checked, and run by a client and a server.

A logistic regression and a support vector machine with a Gaussian kernel, each behind a StandardScaler, are fitted as
usual. The compiled plan goes to a server, the client file to the hospital; what passes between both are files, and the
secret key stays where it was made. Ends with status 1 if a decision differs from that of scikit-learn and is not marked
as uncertain.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import latticework as lw
from latticework import Client, Server

PATIENTS, BITS, SEED = 6, 10, 0


class Answers(NamedTuple):
    """Decisions about patients: encrypted, which of them errors cannot change, and those of scikit-learn."""

    found: list[int]
    certain: list[bool]
    expected: list[int]
    seconds: float


def data() -> list[np.ndarray]:
    """Measurements to fit on, others to test on, and the diagnoses of both: 1 benign, 0 malignant."""
    x, y = load_breast_cancer(return_X_y=True)
    return train_test_split(x, y, test_size=0.3, random_state=SEED, stratify=y)


def fitted(x: np.ndarray, y: np.ndarray) -> dict[str, Pipeline]:
    """Both models, on raw columns."""
    models = {"logistic regression": LogisticRegression(), "support vectors": SVC()}
    return {name: make_pipeline(StandardScaler(), each).fit(x, y) for name, each in models.items()}


def compiled(model: Pipeline, x: np.ndarray, **options) -> lw.Model:
    """The decision of a pipeline as a program; scales and shifts of columns become part of its weights."""
    return lw.compile(lw.from_sklearn(model, "predict"), calibrate=x, precision_bits=BITS, **options)


def served(folder: Path, model: lw.Model, pipeline: Pipeline, patients: np.ndarray) -> Answers:
    """What a client learns of a server; both know the files of the folder only."""
    model.save(folder / "model.lwplan")  # to the server
    model.client().save(folder / "model.lwclient")  # to the hospital

    client = Client.load(folder / "model.lwclient")
    keys = client.keygen()
    keys.save(folder / "keys")  # stays at the hospital
    keys.public().save(folder / "for-server")

    server = Server.load(folder / "model.lwplan", folder / "for-server")
    found, certain, seconds = [], [], 0.0
    for number, patient in enumerate(patients):
        client.encrypt(patient[None]).save(folder / f"{number}.lwct")
        started = time.perf_counter()
        server(server.load_encrypted(folder / f"{number}.lwct")).save(folder / f"{number}.answer.lwct")
        seconds += time.perf_counter() - started
        decision = client.decrypt(client.load_encrypted(folder / f"{number}.answer.lwct"))
        found.append(int(decision.reveal()[0]))
        certain.append(bool(np.all(decision.is_certain)))
    return Answers(found, certain, pipeline.predict(patients).tolist(), seconds / len(patients))


def main() -> int:
    """Run the demonstration; returns the exit status."""
    console = Console(highlight=False, width=100)
    x, held, y, labels = data()
    wrong = 0
    for name, pipeline in fitted(x, y).items():
        model = compiled(pipeline, x)
        console.rule(name)
        console.print(model.accuracy(held, labels, encrypted=2, progress=False).text(), markup=False)
        with tempfile.TemporaryDirectory() as folder:
            answers = served(Path(folder), model, pipeline, held[:PATIENTS])
        table = Table(title=f"{PATIENTS} encrypted patients, {answers.seconds:.2f} s each")
        for heading in ("patient", "encrypted", "certain", "scikit-learn", "diagnosis"):
            table.add_column(heading, justify="right")
        for row in zip(range(PATIENTS), *answers[:3], labels, strict=False):
            table.add_row(*map(str, row))
        console.print(table)
        wrong += sum(sure and a != b for a, sure, b in zip(*answers[:3], strict=True))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
