"""The kernels of latticework for NVIDIA GPUs: a library that latticework loads when a GPU is asked for."""

from pathlib import Path

LIBRARY = Path(__file__).with_name("liblatticework_cuda.so")
