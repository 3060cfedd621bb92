"""Checks of an installation: packages, caches, and whether every set of kernels computes, and the same bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import numpy as np

from latticework import ckks
from latticework.commands.machine.machine_measurement import default_place
from latticework.errors import UserError
from latticework.runtime.devices.drivers import DRIVERS, load_driver
from latticework.values.extension import _core

PACKAGE = "latticework"
FOR_DEVELOPERS = ("dev", "docs", "demo")  # extras that no user of the library needs
REQUIREMENT = re.compile(r"^(?P<name>[\w.-]+).*?(?:extra == ['\"](?P<extra>[\w-]+)['\"])?$")
HOST = ("cpu", "ref")  # backends that a user's program runs on; the simulated device is for tests
NUMBERS = np.array([1.5, -2.0, 0.25, 4.0])
EXACT_TO = 1e-4  # of products of these at a scale of 40 bits; they come out right to about 1e-8
SEED = 1
OTHER_BYTES = "other bytes than the first kernels compute"


def list_packages() -> dict[str, tuple[str | None, str]]:
    """Name -> the installed version, None if it is not there, and the extra that brings it; "" if always needed."""
    try:
        lines = requires(PACKAGE) or []
    except PackageNotFoundError:  # run from a source tree
        lines = ["numpy"]
    found: dict[str, tuple[str | None, str]] = {}
    for line in lines:
        match = REQUIREMENT.match(line)
        if match is not None and match["extra"] not in FOR_DEVELOPERS:
            found.setdefault(match["name"], (_version(match["name"]), match["extra"] or ""))
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def list_caches() -> dict[str, int]:
    """Name -> bytes of what lies in the user's cache folder; nothing if it is not there."""
    folder = default_place().parent
    if not folder.is_dir():
        return {}
    return {str(path): _size(path) for path in sorted(folder.iterdir())}


def _size(path: Path) -> int:
    parts = path.rglob("*") if path.is_dir() else (path,)
    return sum(part.stat().st_size for part in parts if part.is_file() and not part.is_symlink())


def list_kernels() -> dict[str, bool]:
    """Backend of the host, or one of its sets of instructions -> whether this processor has it; the fastest first."""
    names = _core.backend_names()
    variants = {name: here for of in HOST for name, here in _core.backend_variants(of)}
    return {**variants, **{name: name in names for name in HOST if name not in variants}}


def list_devices() -> dict[str, str]:
    """Kind of devices -> what the driver finds, or why there is none."""
    found = {}
    for kind in DRIVERS:
        try:
            load_driver(kind)
            devices: Sequence[object] = _core.driver_devices(kind)
            found[kind] = ", ".join(map(str, devices)) or "no device"
        except UserError as error:
            found[kind] = error.message
    return found


def check_kernels(kernels: Sequence[str]) -> dict[str, str]:
    """Backend -> what is wrong with its results; "" where four encrypted numbers, squared, moved and decrypted, are
    right and their ciphertext has the bytes that the first one computes."""
    # A seed, which makes bytes that can be compared, is no secret.
    secure = ckks.Parameters(2**13, q_bits=[50, 40], scale_bits=40)
    problems, first = {}, None
    for name in kernels:
        parameters = secure.mark_insecure().on(backend=name)
        keys = ckks.KeyGenerator(parameters, insecure_seed=SEED)
        evaluator = ckks.Evaluator(parameters, keys.evaluation_keys(steps=[1]))
        x = ckks.Encryptor(parameters, keys.public_key(), evaluator=evaluator, insecure_seed=SEED).encrypt(NUMBERS)
        y = evaluator.rotate(evaluator.rescale(evaluator.relinearize(evaluator.square(x))), 1)
        found = ckks.Decryptor(parameters, keys.secret_key()).decrypt(y).real[: len(NUMBERS)]
        computed = y.to_bytes()
        first = computed if first is None else first
        error = float(np.max(np.abs(found - np.roll(NUMBERS**2, -1))))
        is_right = error < EXACT_TO
        problems[name] = "" if is_right and computed == first else OTHER_BYTES if is_right else f"off by {error:.1e}"
    return problems
