"""Runs a command and says how long it took and how much memory it had at most.

    python measured.py COMMAND [ARGUMENT ...]
"""

import resource
import subprocess
import sys
import time


def main():
    """Runs the command."""
    start = time.perf_counter()
    code = subprocess.run(sys.argv[1:], check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    mebibytes = used.ru_maxrss / 1024  # Linux counts in KiB
    print(f"{time.perf_counter() - start:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU, {mebibytes:.0f} MiB at most", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
