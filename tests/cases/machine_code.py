"""Instructions of kernels, as the compiler made them for a generation of GPUs: read from the machine code."""

import re
import shutil
import subprocess
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "cases" / "cuda"
ARCHITECTURES = ("sm_80", "sm_90")


def find_nvdisasm():
    packages = find_spec("nvidia")
    folders = (packages.submodule_search_locations or []) if packages else []
    places = (None, "/usr/local/cuda/bin", *(f"{folder}/cu13/bin" for folder in folders))
    return next((found for place in places if (found := shutil.which("nvdisasm", path=place))), None)


NVDISASM = find_nvdisasm()
needs_compiler = [
    pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not there: nothing of CUDA is compiled"),
    pytest.mark.skipif(NVDISASM is None, reason="nvdisasm is not there (nvidia-cuda-nvdisasm): nothing is counted"),
]


class Code:
    """The instructions of each kernel of a source, and what the assembler said of its stack, spills and registers."""

    def __init__(self, source, architecture, folder):
        cubin = folder / f"{architecture}.cubin"
        options = ["-std=c++20", "-O3", "--fmad=false", f"-arch={architecture}", "-cubin", "-Xptxas", "-v"]
        includes = ["-I", ROOT / "cpp", "-I", ROOT / "cuda"]
        said = self.run("nvcc", *options, *includes, "-o", cubin, SOURCES / source)
        pattern = (
            r"Compiling entry function '(\S+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
            r"(\d+) bytes spill loads.*?Used (\d+) registers"
        )
        self.figures = {name: tuple(map(int, rest)) for name, *rest in re.findall(pattern, said, re.DOTALL)}
        listing = self.run(NVDISASM, "-c", cubin)
        self.counts = {}
        for name, body in re.findall(r"\.section\s+\.text\.(\w+),(.*?)(?=\.section\s|\Z)", listing, re.DOTALL):
            found = re.findall(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9]+)", body, re.MULTILINE)
            self.counts[name] = Counter(found) - Counter(NOP=body.count(" NOP"))
        assert self.counts.keys() == self.figures.keys()

    @staticmethod
    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr
