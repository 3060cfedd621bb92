"""Run a command and write what it took: `measure_process.py REPORT.json COMMAND ...`, on the standard library alone.

A process begins with the peak memory of the one that started it, so this small one starts what is measured.
"""

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    """Wall and processor time of the command and all that it started, and the peak of the largest process of these."""
    report, *command = sys.argv[1:]
    start = time.perf_counter()
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(process, 0)
    found = {
        "seconds": time.perf_counter() - start,
        "processor_seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "status": os.waitstatus_to_exitcode(status),
    }
    Path(report).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
