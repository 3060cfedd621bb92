"""Programs that the end-to-end tests share. Small ring degrees are insecure, and named so."""

import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import latticework as lw

INSECURE_SMALL = {"ring_degree": 2048, "insecure": True}
EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    """A module of the folder of examples."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Deployed:
    """One program with both of its sides, keys made."""

    model: lw.Model
    data: np.ndarray
    client: lw.Client = field(init=False)
    keys: lw.Keys = field(init=False)
    server: lw.Server = field(init=False)

    def __post_init__(self):
        self.client = self.model.client(threads=1)
        self.keys = self.client.keygen()
        self.server = self.model.server(self.keys.public(), threads=1)

    def run(self, *inputs):
        return self.client.decrypt(self.server(self.client.encrypt(*inputs)))


@lw.program
def affine(x: lw.Secret[4], w, b):
    return w @ x + b


@lw.program
def curved(x: lw.Secret[16]):
    y = x * x
    return y * y + x


def affine_weights():
    rng = np.random.default_rng(3)
    return rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, 3)


def uniform(shape, seed=5):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def compile_affine(**options):
    settings = {"weights": affine_weights(), "calibrate": uniform((50, 4))} | INSECURE_SMALL | options
    return lw.compile(affine, **settings)
