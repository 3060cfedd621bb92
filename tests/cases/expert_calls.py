"""The public calls of `latticework.ckks` and `latticework.bfv`, found by looking, and a small world of each for tests."""

from __future__ import annotations

import functools
import inspect
from types import ModuleType, SimpleNamespace

import numpy as np

from latticework import bfv, ckks


def public_classes(module: ModuleType) -> dict[str, type]:
    """Name -> class, without errors."""
    found = {name: getattr(module, name) for name in module.__all__}
    return {n: c for n, c in found.items() if inspect.isclass(c) and not issubclass(c, Exception)}


def public_functions(module: ModuleType) -> dict[str, inspect.Signature]:
    """Name -> signature of the functions of a module."""
    found = {name: getattr(module, name) for name in module.__all__}
    return {name: inspect.signature(f) for name, f in found.items() if inspect.isroutine(f)}


def public_errors(module: ModuleType) -> set[str]:
    """Names of the errors of a module."""
    return {n for n in module.__all__ if inspect.isclass(getattr(module, n)) and n not in public_classes(module)}


def members(kind: type) -> dict[str, inspect.Signature | None]:
    """Public name -> signature of a class's methods and of its constructor, `Class()`; None for what is no call."""
    found: dict[str, inspect.Signature | None] = {"()": inspect.signature(kind)}
    for name, value in inspect.getmembers_static(kind):
        if name.startswith("_") or value.__class__.__name__ == "member_descriptor":
            continue
        held = getattr(kind, name)
        found[name] = inspect.signature(held) if callable(held) else None
    return found


def calls(module: ModuleType) -> set[str]:
    """Every public call: `function`, `Class`, `Class.method`."""
    found = set(public_functions(module))
    for name, kind in public_classes(module).items():
        found.add(name)
        found |= {f"{name}.{m}" for m, signature in members(kind).items() if signature is not None and m != "()"}
    return found


@functools.cache
def worlds() -> dict[str, SimpleNamespace]:
    """Small INSECURE parameters of both modules, with keys and all that uses them; `others` are other parameters."""
    real = ckks.Parameters(2**10, [46, 40, 40, 40], scale_bits=40, num_special=1, insecure=True)
    exact = bfv.Parameters(2**10, [46] * 4, p_bits=[48] * 2, plain_bits=17, insecure=True)
    others = {
        "ckks": ckks.Parameters(2**10, [46, 40], scale_bits=40, num_special=1, insecure=True),
        "bfv": bfv.Parameters(2**10, [46] * 3, p_bits=[48], plain_bits=17, insecure=True),
    }
    found = {}
    for name, module, parameters in (("ckks", ckks, real), ("bfv", bfv, exact)):
        generator = module.KeyGenerator(parameters)
        moving = {"conjugate": True} if module is ckks else {"swap_rows": True}
        keys = generator.evaluation_keys(steps=None, **moving)
        secret, public = generator.secret_key(), generator.public_key()
        evaluator = module.Evaluator(parameters, keys)
        encryptor = module.Encryptor(parameters, secret, evaluator=evaluator)
        values = np.array([1, -2, 3, -4])
        found[name] = SimpleNamespace(
            name=name, module=module, parameters=parameters, others=others[name], generator=generator, keys=keys,
            secret=secret, public=public, evaluator=evaluator, encryptor=encryptor, values=values,
            decryptor=module.Decryptor(parameters, secret), encoder=module.Encoder(parameters),
            x=encryptor.encrypt(values), plain=module.Encoder(parameters).encode(values),
        )  # fmt: skip
    return found
