"""Runs a command and says how long it took and how much memory it had at most.

    python measured.py COMMAND [ARGUMENT ...]
"""

import os
import subprocess
import sys
import time


def main():
    """Runs the command."""
    start = time.perf_counter()
    # Not resource.getrusage: it counts children of whatever became this process.
    _, status, used = os.wait4(subprocess.Popen(sys.argv[1:]).pid, 0)
    mebibytes = used.ru_maxrss / 1024  # Linux counts in KiB
    print(f"{time.perf_counter() - start:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU, {mebibytes:.0f} MiB at most", file=sys.stderr)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
