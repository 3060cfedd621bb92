"""What Ctrl-C does to the main thread, at a moment that a test chooses: by a signal that runners of tests leave alone."""

import signal
import threading
from contextlib import contextmanager

import pytest


def _interrupt(*_):
    raise KeyboardInterrupt


@contextmanager
def interrupted(when):
    """The body must end with KeyboardInterrupt, which comes when the event is set."""
    main = threading.main_thread().ident
    before = signal.signal(signal.SIGUSR1, _interrupt)
    done = threading.Event()

    def send():
        if when.wait(60) and not done.is_set():
            signal.pthread_kill(main, signal.SIGUSR1)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        done.set()
        when.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)
