"""Write the inputs of HEIR that the recorded texts beside this file were compiled from, and compile them.

    python tests/data/heir/make.py FOLDER [--heir-opt PATH]

Numbers are multiples of 1/256, which every float holds, so `expected` is exact. The texts were printed by the heir-opt of
heir-py 2026.10.1. `boot` is `mlp` with a bootstrap written into the compiled text by hand.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
from pathlib import Path

import numpy as np

SLOTS = {"dot": 8, "matvec16": 64, "matvec128": 1024, "mlp": 64, "conv": 64, "exp": 8}


def weights(name: str) -> list[np.ndarray]:
    """Of a program, in the order of use."""
    shapes = {"matvec16": [(16, 16)], "matvec128": [(128, 128)], "mlp": [(16, 16), (16,), (8, 16), (8,)],
              "conv": [(3, 3)]}  # fmt: skip
    rng = np.random.default_rng(sum(map(ord, name)))
    return [rng.integers(-64, 65, shape) / 256 for shape in shapes.get(name, [])]


def expected(name: str, *inputs: np.ndarray) -> np.ndarray:
    """What a program computes."""
    w = weights("mlp" if name == "boot" else name)
    if name == "dot":
        return np.asarray(inputs[0] @ inputs[1])
    if name == "exp":
        return np.exp(inputs[0])
    if name in ("mlp", "boot"):
        return w[2] @ (w[0] @ inputs[0] + w[1]) ** 2 + w[3]
    if name == "conv":
        return sum(w[0][i, j] * inputs[0][i : i + 6, j : j + 6] for i in range(3) for j in range(3))
    return w[0] @ inputs[0]


def _constant(name: str, array: np.ndarray) -> str:
    hex_ = np.ascontiguousarray(array, dtype="<f4").tobytes().hex().upper()
    shape = "x".join(map(str, array.shape))
    return f'    %{name} = arith.constant dense<"0x{hex_}"> : tensor<{shape}xf32>\n'


def _matvec(out: str, matrix: str, vector: str, start: str, shape: tuple[int, int]) -> str:
    rows, columns = shape
    return (
        f"    %{out} = linalg.matvec ins(%{matrix}, %{vector} : tensor<{rows}x{columns}xf32>, tensor<{columns}xf32>) "
        f"outs(%{start} : tensor<{rows}xf32>) -> tensor<{rows}xf32>\n"
    )


def source(name: str) -> str:
    """MLIR on cleartext."""
    w = weights(name)
    takes, gives, code = "%x: tensor<16xf32> {secret.secret}", "tensor<16xf32>", ""
    for i, array in enumerate(w):
        code += _constant(f"w{i}", array)
    if name.startswith("matvec"):
        n = len(w[0])
        takes, gives = f"%x: tensor<{n}xf32> {{secret.secret}}", f"tensor<{n}xf32>"
        code += f"    %z = arith.constant dense<0.0> : {gives}\n" + _matvec("r", "w0", "x", "z", (n, n))
    elif name == "mlp":
        gives = "tensor<8xf32>"
        code += _matvec("a", "w0", "x", "w1", (16, 16)) + "    %b = arith.mulf %a, %a : tensor<16xf32>\n"
        code += _matvec("r", "w2", "b", "w3", (8, 16))
    elif name == "conv":
        takes, gives = "%x: tensor<8x8xf32> {secret.secret}", "tensor<6x6xf32>"
        code += (
            f"    %z = arith.constant dense<0.0> : {gives}\n    %r = linalg.conv_2d ins(%x, %w0 : tensor<8x8xf32>, "
            f"tensor<3x3xf32>) outs(%z : {gives}) -> {gives}\n"
        )
    elif name == "exp":
        takes, gives = "%x: tensor<8xf32> {secret.secret}", "tensor<8xf32>"
        code += "    %r = math.exp %x : tensor<8xf32>\n"
    else:
        takes = "%x: tensor<8xf32> {secret.secret}, %y: tensor<8xf32> {secret.secret}"
        gives = "tensor<f32>"
        code += (
            f"    %z = arith.constant dense<0.0> : {gives}\n    %r = linalg.dot ins(%x, %y : tensor<8xf32>, "
            f"tensor<8xf32>) outs(%z : {gives}) -> {gives}\n"
        )
    return (
        "module attributes {backend.openfhe, scheme.ckks} {\n"
        f"  func.func @{name}({takes}) -> {gives} {{\n{code}    return %r : {gives}\n  }}\n}}\n"
    )


def compiled(name: str, heir_opt: str) -> str:
    """What heir-opt prints of it."""
    passes = [f"--mlir-to-ckks=min-slot-count={SLOTS[name]}", "--scheme-to-openfhe"]
    extra = ["--polynomial-approximation"] if name == "exp" else []
    return _run([heir_opt, *extra, *passes], source(name))


def with_bootstrap(text: str) -> str:
    """After the first relinearisation."""
    before, mark, after = text.partition(" = openfhe.relin_inplace ")
    value = before.rpartition("%")[2]
    line, rest = after.split("\n", 1)
    boot = f"\n    %boot = openfhe.bootstrap %cc, %{value} : (!cc, !ct) -> !ct\n"
    return before + mark + line + boot + rest.replace(f"%{value},", "%boot,").replace(f"%{value} ", "%boot ")


def _run(command: list[str], text: str) -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=100).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--heir-opt", default="heir-opt")
    given = parser.parse_args()
    texts = {name: compiled(name, given.heir_opt) for name in SLOTS}
    texts["boot"] = _run([given.heir_opt], with_bootstrap(texts["mlp"]))
    texts["mlp_generic"] = _run([given.heir_opt, "--mlir-print-op-generic"], texts["mlp"])
    for name, text in texts.items():
        with gzip.GzipFile(given.folder / f"{name}.mlir.gz", "wb", mtime=0) as file:
            file.write(text.encode())


if __name__ == "__main__":
    main()
