"""Each check of the simulated GPU fails on a fault that was planted for it, and passes on the right program beside it."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest
import simulated_gpus
from simulated_gpus import POISON, Gpu, N, close_all, every_gpu, fails


@pytest.fixture(autouse=True)
def _closed():
    yield
    close_all()


@every_gpu
def test_right_programs_give_the_same_in_every_order(order, seed):
    gpu = Gpu(order, seed)
    left, right = np.arange(1024, dtype=np.uint64), np.arange(1024, dtype=np.uint64) ** 2
    out, sums = gpu.memory(1024), gpu.memory(4)
    gpu.launch("add", out, gpu.loaded(left), gpu.loaded(right), 1024)
    gpu.launch("sum", sums, out, 256, shared=256)
    assert (gpu.read(out, 1024) == left + right).all()
    assert (gpu.read(sums, 4) == (left + right).reshape(4, 256).sum(axis=1)).all()
    assert gpu.driver.counters(0)["launches"] == {"add": 1, "sum": 1}


# Global memory


@every_gpu
def test_reads_of_what_nothing_wrote(order, seed):
    gpu = Gpu(order, seed)
    out = gpu.memory()
    gpu.launch("add", out, gpu.loaded(range(N)), gpu.memory(), N)
    fails(gpu, "kernel 'add' on stream 0 of device 0, block (", "phase 0: read of memory that nothing wrote: read of 8")


def test_copies_read_what_was_written():
    gpu = Gpu()
    memory, other = gpu.loaded(range(N)), gpu.memory(N + 1)
    gpu.driver.copy(0, gpu.stream, other, memory, 8 * N)
    assert gpu.read(other)[-1] == N - 1
    gpu.download(other, N + 1)
    fails(gpu, "download on stream 0 of device 0: read of memory that nothing wrote")


@every_gpu
@pytest.mark.parametrize(("count", "more"), [(1023, None), (1024, "8 bytes"), (1025, "8 bytes")])
def test_accesses_outside_of_memory(order, seed, count, more):
    gpu = Gpu(order, seed)
    out = gpu.memory(1023)
    gpu.launch("fill", out, count, 7, blocks=5)
    if more is None:
        assert (gpu.read(out, 1023) == 7).all()
    else:
        fails(
            gpu,
            "kernel 'fill'",
            "write of 8 bytes at 0x",
            " outside live memory: it is ",
            "after the end of the piece of 8184",
        )


def test_where_bytes_outside_of_memory_lie():
    def failure(move, words, free=False):
        gpu = Gpu()
        memory = gpu.loaded(range(N))
        if free:
            gpu.driver.memory_free(0, memory)
        gpu.download(memory + move, words)
        return fails(gpu, hex(memory))

    assert "it is 8 bytes before the piece of 8000 bytes at" in failure(-8, 1)
    assert "it is 0 bytes after the end of the piece of 8000 bytes at" in failure(8 * N, 1)
    assert "it runs 8 bytes over the end of the piece of 8000 bytes at" in failure(8, N)
    gpu = Gpu()
    gpu.download(4096, 1)
    fails(gpu, "it is no address of this device")


def test_freed_memory():
    gpu = Gpu()
    memory, other = gpu.loaded(range(N)), gpu.memory()
    gpu.driver.memory_free(0, memory)
    gpu.download(memory + 16, 1)
    fails(gpu, "it is 16 bytes into the piece of 8000 bytes at", "which was freed")
    gpu.driver.forget_failure(0)
    with pytest.raises(RuntimeError, match="no memory of the device begins at"):
        gpu.driver.memory_free(0, other + 512)
    gpu.driver.memory_free(0, other)
    with pytest.raises(RuntimeError, match="no memory of the device begins at"):
        gpu.driver.memory_free(0, other)


def test_misaligned_accesses():
    gpu = Gpu()
    memory = gpu.loaded(range(N))
    gpu.launch("increment", memory + 4, 2 * N - 2, 4, blocks=8)
    gpu.launch("fill", memory + 8, 8, 1)
    gpu.wait()
    gpu.launch("fill", memory + 4, 8, 1)
    fails(gpu, "write of 8 bytes at", "is misaligned: it is 4 bytes into the piece")


@every_gpu
@pytest.mark.parametrize("size", [1, 2, 4, 16])
def test_accesses_of_other_sizes_than_words(order, seed, size):
    gpu = Gpu(order, seed)
    memory = gpu.loaded([0] * 64)
    gpu.launch("increment", memory, 512 // size, size, blocks=2)
    expected = sum(1 << 8 * i for i in range(0, 8, size))
    assert (gpu.read(memory, 64) == expected).all()


@every_gpu
def test_threads_that_use_one_word(order, seed):
    gpu = Gpu(order, seed)
    out = gpu.memory(1)
    gpu.launch("one_word", out, 1)
    assert gpu.read(out, 1)[0] == 1
    gpu.launch("one_word", out, 0)
    fails(gpu, "kernel 'one_word'", "two threads use one word: write of 8 bytes", "in phase 0 wrote")


@every_gpu
@pytest.mark.parametrize(
    ("ahead", "blocks", "phases", "is_right"),
    [(0, 2, 1, True), (1, 1, 2, True), (1, 1, 1, False), (128, 2, 2, False), (5, 2, 1, False)],
)
def test_threads_that_read_what_others_write(order, seed, ahead, blocks, phases, is_right):
    gpu = Gpu(order, seed)
    count = 128 * blocks
    words, out = gpu.loaded(range(count)), gpu.memory(count)
    gpu.launch("neighbour", words, out, ahead, count, phases, blocks=blocks, threads=128)
    if is_right:
        assert (gpu.read(out, count) == np.roll(np.arange(1, count + 1), -ahead)).all()
    else:
        fails(gpu, "kernel 'neighbour'", "two threads use one word: ")


# Shared memory


@every_gpu
def test_barriers(order, seed):
    gpu = Gpu(order, seed)
    out = gpu.memory(256)
    gpu.launch("overwrite", out, 0, blocks=1, shared=1)
    assert (gpu.read(out, 256) == 7).all()
    gpu.launch("overwrite", out, 1, blocks=1, shared=1)
    fails(gpu, "kernel 'overwrite'", "phase 1: missing barrier: it uses word 0 of shared memory, which", "in phase 1 ")


@every_gpu
def test_a_sum_without_barriers(order, seed):
    gpu = Gpu(order, seed)
    gpu.launch("sum_without_barriers", gpu.memory(1), gpu.loaded(range(256)), 256, blocks=1, shared=256)
    message = fails(gpu, "kernel 'sum_without_barriers'")
    assert "missing barrier" in message or "of shared memory, which nothing wrote" in message


@every_gpu
def test_lanes_exchange_words(order, seed):
    gpu = Gpu(order, seed)
    out = gpu.memory(192)
    gpu.launch("exchange", out, 5, 0, blocks=2, threads=96)
    assert (gpu.read(out, 192).reshape(2, 96) == np.arange(96) ^ 5).all()


@every_gpu
@pytest.mark.parametrize(
    ("bits", "wrong", "message"),
    [
        (1, 1, "takes a word from another lane in a phase that is not said to be an exchange"),
        (1, 2, "which gave none in the phase before"),
        (2, 3, "in its last phase 32 of 64 threads took a word from another lane"),
        (32, 0, "which is not in its warp"),
    ],
)
def test_wrong_exchanges(order, seed, bits, wrong, message):
    gpu = Gpu(order, seed)
    gpu.launch("exchange", gpu.memory(64), bits, wrong, blocks=1, threads=64)
    fails(gpu, "kernel 'exchange'", message)


@every_gpu
def test_blocks_of_a_cluster_read_from_each_other(order, seed):
    gpu = Gpu(order, seed)
    out = gpu.memory(512)
    gpu.launch("cluster_neighbour", out, 1, 2, blocks=8, threads=64, shared=64)
    assert (gpu.read(out, 512).reshape(2, 256) == np.roll(np.arange(512).reshape(2, 256), -64, axis=1)).all()
    gpu.launch("cluster_neighbour", out, 0, 1, blocks=8, threads=64, shared=64)
    gpu.wait()
    gpu.launch("cluster_neighbour", out, 4, 2, blocks=8, threads=64, shared=64)
    fails(gpu, "kernel 'cluster_neighbour'", "of shared memory of block 4 of a cluster, which has 64 words")


@every_gpu
def test_blocks_of_a_cluster_without_barriers(order, seed):
    gpu = Gpu(order, seed)
    gpu.launch("cluster_neighbour", gpu.memory(256), 1, 1, blocks=4, threads=64, shared=64)
    message = fails(gpu, "kernel 'cluster_neighbour'")
    assert "missing barrier" in message or ", which nothing wrote" in message


def test_clusters_are_whole():
    gpu = Gpu()
    with pytest.raises(RuntimeError, match="6 blocks in a row: its clusters are of 4"):
        gpu.launch("cluster_neighbour", gpu.memory(512), 1, 2, blocks=6, threads=64, shared=64)


@every_gpu
def test_shared_memory_has_its_size_and_begins_unwritten_in_each_block(order, seed):
    gpu = Gpu(order, seed)
    out = gpu.memory(512)
    gpu.launch("keep", out, 1, 1, blocks=2, shared=256)
    gpu.launch("keep", out, 3, 1, blocks=2, threads=86, shared=256)
    gpu.wait()
    gpu.launch("keep", out, 3, 1, blocks=2, threads=87, shared=256)
    fails(gpu, "write of word 258 of shared memory, which has 256 words")
    gpu.driver.forget_failure(0)
    gpu.launch("keep", out, 1, 0, blocks=2, shared=256)
    fails(gpu, "of shared memory, which nothing wrote")


# Copies with the host


@every_gpu
def test_copies_with_the_host_are_late(order, seed):
    gpu = Gpu(order, seed)
    memory, values = gpu.memory(), np.zeros(N, np.uint64)
    gpu.driver.upload(0, gpu.stream, memory, values)
    values[:] = 9
    early = gpu.download(memory)
    assert (early == POISON).all()
    assert np.isnan(early.view(np.float64)).all()
    gpu.wait()
    assert (early == 9).all()


def array_at(address, words=N):
    return np.ctypeslib.as_array((ctypes.c_uint64 * words).from_address(address))


def test_addresses_of_the_wrong_side():
    gpu = Gpu()
    memory = gpu.memory()
    pinned = gpu.driver.pinned_get(0, 64)
    with pytest.raises(RuntimeError, match="upload: 0x[0-9a-f]* is memory of device 0, not of the host"):
        gpu.driver.upload(0, gpu.stream, gpu.memory(), array_at(memory))
    with pytest.raises(RuntimeError, match="download: 0x[0-9a-f]* is memory of device 1, not of the host"):
        gpu.driver.download(0, gpu.stream, array_at(gpu.memory(device=1)), memory)
    with pytest.raises(RuntimeError, match="copy between places that overlap"):
        gpu.driver.copy(0, gpu.stream, memory, memory + 8, 16)
    gpu.driver.copy(0, gpu.stream, memory, pinned, 64)
    fails(gpu, "it is no address of this device")
    code = "import ctypes, simulated_gpus as s; ctypes.string_at(s.Gpu().memory(), 8)"
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(simulated_gpus.__file__)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert result.returncode != 0 and b"Traceback" not in result.stderr


def test_pinned_memory_that_a_copy_uses_is_not_freed():
    gpu = Gpu()
    pinned = gpu.driver.pinned_get(0, 8 * N)
    values = array_at(pinned)
    assert (values == POISON).all()
    gpu.driver.download(0, gpu.stream, values, gpu.loaded(range(N)))
    with pytest.raises(RuntimeError, match="a copy uses, for which the host has not waited"):
        gpu.driver.pinned_free(0, pinned)
    pinned = gpu.driver.pinned_get(0, 8 * N)
    gpu.wait()
    gpu.driver.pinned_free(0, pinned)
    with pytest.raises(RuntimeError, match="is no pinned memory"):
        gpu.driver.pinned_free(0, pinned)


# Calls that are refused


@pytest.mark.parametrize(
    ("kernel", "args", "blocks", "threads", "shared", "text"),
    [
        ("none", [], 1, 1, 0, "launch of kernel 11: there are 11"),
        ("fill", [1, 2], 1, 1, 0, "'fill' with 16 bytes of arguments: it takes 24"),
        ("fill", [1, 2, 3], 1, 0, 0, "with 0 threads of a block: it takes 1 to 256"),
        ("fill", [1, 2, 3], 1, 257, 0, "with 257 threads of a block: it takes 1 to 256"),
        ("fill", [1, 2, 3], (1, 0, 1), 1, 0, "with 1 x 0 x 1 blocks"),
        ("fill", [1, 2, 3], (1, 1 << 16, 1), 1, 0, "with 1 x 65536 x 1 blocks"),
        ("fill", [1, 2, 3], 1, 1, 227 * 128 + 1, "with 232456 bytes of shared memory: it can be up to 232448"),
    ],
)
def test_launches_that_are_refused(kernel, args, blocks, threads, shared, text):
    gpu = Gpu()
    with pytest.raises(RuntimeError, match=text):
        gpu.launch(kernel, *args, blocks=blocks, threads=threads, shared=shared)
    gpu.launch("fill", gpu.memory(), N, 1, blocks=(4, 1, 1), shared=227 * 128)
    gpu.wait()


def test_devices_that_are_not_there():
    with pytest.raises(RuntimeError, match="there is no such device: a simulator has two"):
        Gpu().driver.stream_make(2)


def test_memory_has_its_limit():
    gpu = Gpu(memory_bytes=1 << 20)
    first = gpu.driver.memory_get(0, 1 << 19)
    assert gpu.driver.describe(0)["free_bytes"] == 1 << 19
    with pytest.raises(MemoryError, match="no 524289 bytes on device 0: 524288 are free"):
        gpu.driver.memory_get(0, (1 << 19) + 1)
    gpu.driver.memory_get(1, 1 << 20)
    gpu.driver.memory_free(0, first)
    assert gpu.driver.memory_get(0, 1 << 20) % 512 == 0
    assert gpu.driver.counters(0)["allocations"] == 2
    assert gpu.driver.counters(0)["frees"] == 1


def test_counters():
    gpu = Gpu()
    gpu.read(gpu.loaded(range(N)), 10)
    counters = gpu.driver.counters(0)
    assert (counters["bytes_up"], counters["bytes_down"], counters["host_waits"]) == (8 * N, 80, 1)
    gpu.driver.reset_counters(0)
    assert not any(gpu.driver.counters(0).values())


def test_failures_on_demand():
    gpu = Gpu()
    gpu.driver.fail_allocations(0, 2, 2)
    memory = gpu.memory()
    for _ in range(2):
        with pytest.raises(MemoryError, match="failed on demand"):
            gpu.memory()
    gpu.memory()
    gpu.driver.fail_launches(0, 1, 1)
    with pytest.raises(RuntimeError, match="a launch failed on demand"):
        gpu.launch("fill", memory, N, 1)
    gpu.launch("fill", memory, N, 2)
    assert gpu.read(memory)[0] == 2


def test_a_lost_device_does_nothing_any_more():
    gpu = Gpu()
    memory = gpu.loaded(range(N))
    gpu.driver.lose(0, 2)
    values = gpu.download(memory)
    for call in (gpu.wait, gpu.memory, lambda: gpu.driver.memory_free(0, memory), lambda: gpu.driver.describe(0)):
        with pytest.raises(RuntimeError, match="device 0 was lost"):
            call()
    assert (values == POISON).all()
    assert gpu.driver.describe(1)["name"] == "simulated GPU 1"


def test_a_failure_stays_until_it_is_forgotten():
    gpu = Gpu()
    memory = gpu.loaded(range(N))
    gpu.download(gpu.memory())
    for call in (gpu.wait, gpu.wait, gpu.memory, lambda: gpu.launch("fill", memory, N, 1)):
        with pytest.raises(RuntimeError, match="nothing wrote"):
            call()
    gpu.driver.forget_failure(0)
    assert gpu.read(memory)[1] == 1
