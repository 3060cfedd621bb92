"""Work in a process of its own that tells what it finds as it goes: what it told stays where it is ended."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

from latticework.errors import UserError

_DONE, _PART, _REFUSED, _FAILED = "done", "part", "refused", "failed"


def parts_of(work: Callable[..., Iterator[Any]], *arguments: Any, limit_seconds: float) -> Iterator[Any]:
    """What an importable generator function yields in a new process, which is ended after so many seconds.

    raises  UserError as the work does; RuntimeError with what else it fails with; TimeoutError at the limit;
            ChildProcessError if it is ended by the system, as where memory is out
    """
    spawn = get_context("spawn")
    receive, send = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_tell, args=(send, work, arguments), daemon=True)
    ends = time.monotonic() + limit_seconds
    process.start()
    send.close()
    try:
        while True:
            if not receive.poll(max(ends - time.monotonic(), 0.0)):
                raise TimeoutError(f"ended after {limit_seconds:.0f} s")
            kind, content = _received(receive, process)
            if kind == _DONE:
                return
            if kind == _REFUSED:
                raise UserError(content)
            if kind == _FAILED:
                raise RuntimeError(content)
            yield content
    finally:
        if process.is_alive():
            process.kill()
        process.join()


def _received(receive: Connection, process: Any) -> tuple[str, Any]:
    try:
        found: tuple[str, Any] = receive.recv()
    except EOFError:
        process.join()
        raise ChildProcessError(f"the process was ended (status {process.exitcode}); memory may be out") from None
    return found


def _end_with_parent() -> None:
    """Where the process that wants to know is killed, the work ends too, and gives its memory back."""
    parent = parent_process()
    assert parent is not None, "in a process that another one started"
    wait([parent.sentinel])
    os._exit(1)


def _tell(send: Connection, work: Callable[..., Iterator[Any]], arguments: tuple[Any, ...]) -> None:
    """In the new process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        for part in work(*arguments):
            send.send((_PART, part))
    except UserError as error:
        send.send((_REFUSED, f"{error}"))
    except Exception as error:  # whatever it is belongs into the row
        traceback.print_exc()
        send.send((_FAILED, f"{type(error).__name__}: {error}"))
    else:
        send.send((_DONE, None))
