"""A program on OpenFHE whose rotation keys are files. Arguments: inner|make|run|open FOLDER [PROGRAM].

inner prints the rotations of a bootstrap
make  parameters, keys, one file each, and encrypted inputs, by FOLDER/about.json and FOLDER/inputs.npy
run   FOLDER/PROGRAM.py in a process without the secret key; prints seconds and the peak of its memory as JSON
open  decrypts FOLDER/result*.bin to FOLDER/result.npy
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import openfhe as fhe

FEATURES = (fhe.PKE, fhe.KEYSWITCH, fhe.LEVELEDSHE, fhe.ADVANCEDSHE, fhe.FHE)
CONJUGATION = 0  # the number of steps under which its key is kept


def peak_bytes() -> int:
    """The most memory that this process has had resident."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def resident_bytes() -> int:
    """The memory that this process has resident."""
    return os.sysconf("SC_PAGE_SIZE") * int(Path("/proc/self/statm").read_text().split()[1])


def first(found: Any) -> Any:
    """What was read, of readers that tell whether it went well too."""
    return found[0] if isinstance(found, tuple) else found


def context_of(about: dict[str, Any]) -> Any:
    """The same parameters in every process."""
    p = fhe.CCParamsCKKSRNS()
    p.SetScalingTechnique(fhe.FLEXIBLEAUTO)
    p.SetScalingModSize(about["scale_bits"])
    p.SetFirstModSize(60)
    p.SetBatchSize(about["slots"])
    depth, budget = about["depth"], about["level_budget"]
    if budget:
        depth += fhe.CryptoContext.GetBootstrapDepth(budget, p.GetSecretKeyDist())
    p.SetMultiplicativeDepth(depth)
    if about["insecure_ring"]:
        p.SetSecurityLevel(fhe.HEStd_NotSet)
        p.SetRingDim(about["insecure_ring"])
    else:
        p.SetSecurityLevel(fhe.HEStd_128_classic)
    cc = fhe.GenCryptoContext(p)
    for feature in FEATURES:
        cc.Enable(feature)
    if budget:
        cc.EvalBootstrapSetup(budget, [0, 0], about["slots"])
    return cc


def automorphism(cc: Any, steps: int) -> int:
    """The ring's automorphism of a rotation, or conjugation."""
    return 2 * cc.GetRingDimension() - 1 if steps == CONJUGATION else cc.FindAutomorphismIndex(steps)


def encode(cc: Any, vector: np.ndarray, level: int = 0) -> Any:
    """A slot vector as a plaintext."""
    return cc.MakeCKKSPackedPlaintext(np.ascontiguousarray(vector), 1, level, None, len(vector))


def find_inner(about: dict[str, Any]) -> dict[str, Any]:
    """Rotations that a bootstrap takes, by the keys that the package makes for it."""
    cc = context_of(about)
    secret = cc.KeyGen().secretKey
    cc.EvalBootstrapKeyGen(secret, about["slots"])
    made = set(cc.GetExistingEvalAutomorphismKeyIndices(secret.GetKeyTag()))
    order = 2 * cc.GetRingDimension()
    return {"inner": [steps for steps in range(1, order // 4) if pow(5, steps, order) in made]}


def make(folder: Path, about: dict[str, Any]) -> dict[str, Any]:
    """Keys, one file each, and inputs."""
    cc = context_of(about)
    pair = cc.KeyGen()
    cc.EvalMultKeyGen(pair.secretKey)
    (folder / "keys").mkdir(exist_ok=True)
    cc.SerializeEvalMultKey(str(folder / "product.bin"), fhe.BINARY)
    for steps in [*about["steps"], *([CONJUGATION] if about["inner"] else [])]:
        key = cc.EvalAutomorphismKeyGen(pair.secretKey, [automorphism(cc, steps)])
        assert fhe.SerializeToFile(str(folder / "keys" / f"{steps}.bin"), key, fhe.BINARY)
        fhe.CryptoContext.ClearEvalAutomorphismKeys()
    for number, vector in enumerate(np.load(folder / "inputs.npy")):
        level = cc.GetMultiplicativeDepth() - about["depth"]
        cipher = cc.Encrypt(pair.publicKey, encode(cc, vector, level))
        assert fhe.SerializeToFile(str(folder / f"input{number}.bin"), cipher, fhe.BINARY)
    assert fhe.SerializeToFile(str(folder / "secret.bin"), pair.secretKey, fhe.BINARY)
    size = (folder / "keys" / f"{about['steps'][0]}.bin").stat().st_size
    return {"ring_degree": cc.GetRingDimension(), "key_bytes": size}


class Keys:
    """Rotation keys as values: each is a file, a map of one key when it is loaded, and nothing when it is cleared.

    The package has no call that drops one key of its own list, so keys are not put there: EvalAutomorphism takes a map.
    """

    def __init__(self, folder: Path, everything: list[int], inner: list[int], tag: str) -> None:
        self.folder, self.inner, self.tag = folder, inner, tag
        self.held: dict[int, Any] = {}
        self.ready: dict[int, threading.Event] = {}
        self.read: dict[int, Any] = {}
        self.orders: queue.SimpleQueue[tuple[int, threading.Event]] = queue.SimpleQueue()
        for steps in everything:
            self.held[steps] = self.open(steps)
        self.conjugation = self.open(CONJUGATION) if inner else None
        threading.Thread(target=self.serve, daemon=True).start()

    def open(self, steps: int) -> Any:
        """One key from its file."""
        return first(fhe.DeserializeEvalKeyMap(str(self.folder / f"{steps}.bin"), fhe.BINARY))

    def serve(self) -> None:
        """Read ahead what is asked for, in order."""
        while True:
            steps, ready = self.orders.get()
            self.read[steps] = self.open(steps)
            ready.set()

    def ask(self, steps: int) -> None:
        """Have a key read ahead."""
        self.ready[steps] = threading.Event()
        self.orders.put((steps, self.ready[steps]))

    def load(self, steps: int) -> None:
        """Have a key in memory now."""
        waited = self.ready.pop(steps, None)
        if waited is None:
            self.held[steps] = self.open(steps)
        else:
            waited.wait()
            self.held[steps] = self.read.pop(steps)

    def clear(self, steps: int) -> None:
        """Drop a key."""
        del self.held[steps]

    def bootstrap(self, cc: Any, x: Any) -> Any:
        """A bootstrap, whose keys are in the package's own list for as long as it takes."""
        for key in (self.conjugation, *(self.held[steps] for steps in self.inner)):
            fhe.CryptoContext.InsertEvalAutomorphismKey(key, self.tag)
        made = cc.EvalBootstrap(x)
        fhe.CryptoContext.ClearEvalAutomorphismKeys()
        return made

    def get(self, steps: int) -> Any:
        """A key that is in memory."""
        return self.held[steps]


def run(folder: Path, about: dict[str, Any], program: str) -> dict[str, Any]:
    """Run a program, with the keys that it begins with."""
    cc = context_of(about)
    assert cc.DeserializeEvalMultKey(str(folder / "product.bin"), fhe.BINARY)
    values = [
        first(fhe.DeserializeCiphertext(str(folder / f"input{n}.bin"), fhe.BINARY)) for n in range(about["inputs"])
    ]
    path, slots = folder / "plaintexts.bin", about["slots"]

    def plain(number: int) -> Any:
        return encode(cc, np.fromfile(path, count=slots, offset=8 * slots * number))

    before = resident_bytes()
    everything = about["steps"] if program == "all" else []
    keys = Keys(folder / "keys", everything, about["inner"], values[0].GetKeyTag())
    space: dict[str, Any] = {}
    exec(compile((folder / f"{program}.py").read_text(), program, "exec"), space)
    wall, cpu = time.perf_counter(), time.process_time()
    results = space["evaluate"](cc, keys, values, plain)
    seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    for number, cipher in enumerate(results):
        assert fhe.SerializeToFile(str(folder / f"result{number}.bin"), cipher, fhe.BINARY)
    return {**seconds, "peak_bytes": peak_bytes(), "start_bytes": before}


def open_results(folder: Path, about: dict[str, Any]) -> dict[str, Any]:
    """Decrypt."""
    cc = context_of(about)
    secret = first(fhe.DeserializePrivateKey(str(folder / "secret.bin"), fhe.BINARY))
    found = []
    for number in range(about["outputs"]):
        plain = cc.Decrypt(secret, first(fhe.DeserializeCiphertext(str(folder / f"result{number}.bin"), fhe.BINARY)))
        plain.SetLength(about["slots"])
        found.append(np.array(plain.GetRealPackedValue()))
    np.save(folder / "result.npy", np.stack(found))
    return {}


def main() -> None:
    """See the top of this file."""
    word, folder = sys.argv[1], Path(sys.argv[2])
    about = json.loads((folder / "about.json").read_text())
    if word == "inner":
        print(json.dumps(find_inner(about)))
    elif word == "make":
        print(json.dumps(make(folder, about)))
    elif word == "run":
        print(json.dumps(run(folder, about, sys.argv[3])))
    else:
        print(json.dumps(open_results(folder, about)))


if __name__ == "__main__":
    main()
