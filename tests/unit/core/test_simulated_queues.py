"""What simulated GPUs know of order: between queues, devices, threads and processes, in marks and in replays."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import simulated_gpus
from simulated_gpus import POISON, Gpu, N, close_all, every_gpu, fails


@pytest.fixture(autouse=True)
def _closed():
    yield
    close_all()


# Order between queues


@every_gpu
@pytest.mark.parametrize("with_event", [True, False])
def test_queues_are_ordered_by_events(order, seed, with_event):
    gpu = Gpu(order, seed)
    memory, out = gpu.loaded(range(N)), gpu.memory()
    other = gpu.driver.stream_make(0)
    if with_event:
        gpu.order(gpu.stream, other)
    gpu.launch("add", out, memory, memory, N, stream=other)
    if with_event:
        assert (gpu.read(out, stream=other) == 2 * np.arange(N)).all()
        return
    with pytest.raises(RuntimeError, match="unordered use across queues: ") as failure:
        gpu.wait()
        gpu.wait(other)
    assert "kernel 'add' on stream 1 of device 0" in str(failure.value)
    assert "upload on stream 0 of device 0" in str(failure.value)


@every_gpu
def test_a_wait_of_the_host_orders_what_is_called_later(order, seed):
    gpu = Gpu(order, seed)
    memory, other = gpu.loaded(range(N)), gpu.driver.stream_make(0)
    gpu.wait()
    assert gpu.read(memory, stream=other)[5] == 5
    gpu.launch("fill", memory, N, 1)
    event = gpu.driver.event_make(0)
    gpu.driver.event_record(0, event, gpu.stream)
    gpu.driver.event_wait(0, event)
    assert gpu.read(memory, stream=other)[5] == 1


@every_gpu
def test_a_wait_of_the_host_orders_nothing_that_was_called_before(order, seed):
    gpu = Gpu(order, seed)
    other, memory = gpu.driver.stream_make(0), gpu.memory()
    gpu.launch("fill", memory, N, 1)
    gpu.launch("fill", memory, N, 2, stream=other)
    with pytest.raises(RuntimeError, match="unordered use across queues"):
        gpu.wait()
        gpu.wait(other)


@every_gpu
@pytest.mark.parametrize("ordered", [(1, 2), (1,), (2,)])
def test_a_write_comes_after_all_reads(order, seed, ordered):
    gpu = Gpu(order, seed)
    memory = gpu.loaded(range(N))
    readers = [gpu.driver.stream_make(0) for _ in range(2)]
    outs = [gpu.memory() for _ in readers]
    for reader, out in zip(readers, outs, strict=True):
        gpu.order(gpu.stream, reader)
        gpu.launch("add", out, memory, memory, N, stream=reader)
    for i in ordered:
        gpu.order(readers[i - 1], gpu.stream)
    gpu.launch("fill", memory, N, 7)
    if ordered == (1, 2):
        assert (gpu.read(memory) == 7).all()
        return
    with pytest.raises(RuntimeError, match="(fill|add).*unordered use across queues: .*(fill|add)"):
        for stream in (gpu.stream, *readers):
            gpu.wait(stream)


def test_the_same_faults_in_every_run():
    def failure():
        gpu = Gpu("shuffled", 5)
        memory, streams = gpu.loaded(range(N)), [gpu.driver.stream_make(0) for _ in range(4)]
        for i in range(40):
            gpu.launch("fill", memory, N, i, stream=streams[i % 4])
            gpu.launch("neighbour", memory, memory, 1, N, 1, stream=streams[-i % 4])
        message = fails(gpu)
        close_all()
        return message.split(" at 0x")[0]

    assert len({failure() for _ in range(20)}) == 1


def test_streams_that_come_after_freed_ones():
    gpu = Gpu()
    memory = gpu.memory()
    for i in range(50):
        stream = gpu.driver.stream_make(0)
        gpu.launch("fill", memory, N, i, stream=stream)
        gpu.driver.stream_free(0, stream)
    assert (gpu.read(memory) == 49).all()


# Marks


@every_gpu
def test_memory_that_was_released_and_taken_again(order, seed):
    gpu = Gpu(order, seed)
    memory = gpu.loaded(range(N))
    gpu.driver.mark(0, gpu.stream, memory, 4 * N, False)
    gpu.driver.mark(0, gpu.stream, memory, 4 * N, True)
    gpu.launch("fill", memory, N // 2, 3)
    assert gpu.read(memory).tolist() == [3] * (N // 2) + list(range(N // 2, N))
    gpu.driver.mark(0, gpu.stream, memory, 8, False)
    gpu.download(memory + 8, N - 1)
    gpu.wait()
    gpu.download(memory)
    fails(gpu, "download on stream 0 of device 0: use after it was released: read of 8000 bytes")


def test_memory_taken_again_is_unwritten():
    gpu = Gpu()
    memory = gpu.loaded(range(N))
    gpu.driver.mark(0, gpu.stream, memory, 8 * N, True)
    gpu.download(memory)
    fails(gpu, "read of memory that nothing wrote")


@every_gpu
def test_a_release_that_is_not_ordered_with_a_use(order, seed):
    gpu = Gpu(order, seed)
    memory, other = gpu.loaded(range(N)), gpu.driver.stream_make(0)
    gpu.order(gpu.stream, other)
    gpu.launch("add", gpu.memory(), memory, memory, N, stream=other)
    gpu.driver.mark(0, gpu.stream, memory, 8 * N, False)
    with pytest.raises(
        RuntimeError, match="unordered use across queues: .* mark on stream 0|mark on stream 0 .*: unord"
    ):
        gpu.wait()
        gpu.wait(other)


# Graphs


@every_gpu
def test_captured_work_is_done_by_replays(order, seed):
    gpu = Gpu(order, seed)
    driver, memory = gpu.driver, gpu.loaded(range(N))
    driver.capture_begin(0, gpu.stream)
    gpu.launch("add", memory, memory, memory, N)
    result = gpu.download(memory)
    graph = driver.capture_end(0, gpu.stream)
    gpu.wait()
    assert (result == 0).all()
    other = driver.stream_make(0)
    gpu.order(gpu.stream, other)
    for stream in (other, gpu.stream, other):
        driver.graph_replay(0, graph, stream)
    assert (result == POISON).all() or result[1] in (2, 4)
    gpu.wait(other)
    assert (result == 8 * np.arange(N)).all()
    assert driver.counters(0)["replays"] == driver.counters(0)["launches"]["add"] == 3
    driver.graph_free(0, graph)


def test_replays_check_as_calls_do():
    gpu = Gpu()
    memory = gpu.memory()
    gpu.driver.capture_begin(0, gpu.stream)
    gpu.launch("add", memory, memory, memory, N)
    graph = gpu.driver.capture_end(0, gpu.stream)
    gpu.upload(memory, range(N))
    gpu.driver.graph_replay(0, graph, gpu.stream)
    assert gpu.read(memory)[3] == 6
    gpu.driver.mark(0, gpu.stream, memory, 8 * N, True)
    gpu.driver.graph_replay(0, graph, gpu.stream)
    fails(gpu, "kernel 'add'", "read of memory that nothing wrote")


def test_what_a_capture_cannot_hold():
    gpu = Gpu()
    driver, event = gpu.driver, gpu.driver.event_make(0)
    with pytest.raises(RuntimeError, match="capture_end of a stream that is not captured"):
        driver.capture_end(0, gpu.stream)
    driver.capture_begin(0, gpu.stream)
    for call in (
        gpu.wait,
        lambda: driver.capture_begin(0, gpu.stream),
        lambda: driver.event_record(0, event, gpu.stream),
        lambda: driver.event_order(0, gpu.stream, event),
    ):
        with pytest.raises(RuntimeError, match="is not possible while a stream is captured"):
            call()


# Events, two devices, threads, processes


def test_events():
    gpu = Gpu()
    driver, memory = gpu.driver, gpu.loaded(range(N))
    start, end = driver.event_make(0), driver.event_make(0)
    assert driver.event_done(0, start)
    driver.event_record(0, start, gpu.stream)
    gpu.launch("fill", memory, N, 1)
    driver.event_record(0, end, gpu.stream)
    with pytest.raises(RuntimeError, match="is not done"):
        driver.event_elapsed(0, start, end)
    while not driver.event_done(0, end):
        pass
    assert 0 < driver.event_elapsed(0, start, end) < 60
    driver.event_free(0, start)


@every_gpu
def test_two_devices_with_an_event_between_them(order, seed):
    gpu = Gpu(order, seed)
    there, host = gpu.driver.stream_make(1), np.zeros(N, np.uint64)
    memory, far = gpu.loaded(range(N)), gpu.memory(device=1)
    for _ in range(3):
        gpu.launch("add", memory, memory, memory, N)
        gpu.driver.download(0, gpu.stream, host, memory)
        gpu.order(gpu.stream, there, 0, 1)
        gpu.driver.upload(1, there, far, host)
        gpu.launch("add", far, far, far, N, stream=there, device=1)
        gpu.order(there, gpu.stream, 1, 0)
    assert (gpu.read(far, stream=there, device=1) == 16 * np.arange(N)).all()
    gpu.download(far)
    fails(gpu, "it is no address of this device")
    assert gpu.driver.describe(1)


def test_threads_with_streams_of_their_own():
    gpu = Gpu("shuffled", 3)
    wrong = []

    def work(number):
        stream, driver = gpu.driver.stream_make(number % 2), gpu.driver
        device = number % 2
        for i in range(20):
            memory = gpu.memory(device=device)
            gpu.launch("fill", memory, N, 100 * number + i, stream=stream, device=device)
            if (gpu.read(memory, stream=stream, device=device) != 100 * number + i).any():
                wrong.append((number, i))
            driver.memory_free(device, memory)
        driver.stream_free(device, stream)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert gpu.driver.counters(0)["launches"]["fill"] == 40


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_made_by_fork_has_no_devices():
    gpu = Gpu()
    memory = gpu.loaded(range(N))
    gpu.launch("fill", memory, N, 1)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            gpu.wait()
        except RuntimeError as error:
            code = 42 if "made by fork" in str(error) else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    assert (gpu.read(memory) == 1).all()


def test_a_process_ends_with_work_pending():
    code = """if True:
        import os, simulated_gpus as s
        gpu = s.Gpu()
        memory = gpu.loaded(range(1000))
        for i in range(500):
            gpu.launch("fill", memory, 1000, i)
        import builtins; builtins.kept = gpu
    """
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(simulated_gpus.__file__)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
