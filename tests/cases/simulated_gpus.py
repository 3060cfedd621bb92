"""A simulated GPU in fewer words: one device and stream unless told otherwise."""

import numpy as np
import pytest

from latticework._core import Simulator

ORDERS = ("forward", "reversed", "shuffled")
SEEDS = (1, 2, 3)
POISON = 0x7FF4DEAD7FF4DEAD
N = 1000
every_gpu = pytest.mark.parametrize(("order", "seed"), [(o, s) for o in ORDERS for s in SEEDS])


opened: list["Gpu"] = []


def close_all():
    while opened:
        opened.pop().driver.close()


class Gpu:
    def __init__(self, order="forward", seed=1, memory_bytes=1 << 28):
        self.driver = Simulator(order, seed, memory_bytes)
        opened.append(self)
        self.stream = self.driver.stream_make(0)
        self.kept = []  # arrays that copies may still use

    def memory(self, words=N, device=0):
        return self.driver.memory_get(device, 8 * words)

    def loaded(self, values, stream=None, device=0):
        memory = self.memory(len(values), device)
        self.upload(memory, values, stream, device)
        return memory

    def upload(self, memory, values, stream=None, device=0):
        source = np.array(values, np.uint64)
        self.kept.append(source)
        self.driver.upload(device, stream or self.stream, memory, source)

    def launch(self, kernel, *args, blocks=4, threads=256, shared=0, stream=None, device=0):
        grid = (blocks, 1, 1) if isinstance(blocks, int) else blocks
        self.driver.launch(device, stream or self.stream, kernel, list(args), grid, threads, 8 * shared)

    def download(self, memory, words=N, stream=None, device=0):
        """Not yet waited for."""
        values = np.zeros(words, np.uint64)
        self.kept.append(values)
        self.driver.download(device, stream or self.stream, values, memory)
        return values

    def wait(self, stream=None, device=0):
        self.driver.stream_wait(device, stream or self.stream)

    def read(self, memory, words=N, stream=None, device=0):
        values = self.download(memory, words, stream, device)
        self.wait(stream, device)
        return values

    def order(self, before, after, from_device=0, to_device=0):
        """What is called on `after` from now on comes after all on `before`."""
        event = self.driver.event_make(from_device)
        self.driver.event_record(from_device, event, before)
        self.driver.event_order(to_device, after, event)
        return event


def fails(gpu, *texts, stream=None):
    with pytest.raises(RuntimeError) as failure:
        gpu.wait(stream)
    for text in texts:
        assert text in str(failure.value)
    return str(failure.value)
