"""Writes made-up records for the benchmark: records.parquet.

    python generate.py records.parquet [--records 100000] [--signals 20]

Every signal is normal; the first half of them shift with the label, each a
little less than the one before.
"""

import argparse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def main():
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--signals", type=int, default=20)
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    n = arguments.records
    label = rng.random(n) < 0.3
    columns = {
        "id": pa.array([f"r{i}" for i in range(n)]),
        "split": pa.array(np.where(rng.random(n) < 0.5, "calibration", "test")),
        "label": pa.array(label),
    }
    for s in range(arguments.signals):
        shift = max(0.0, 1.5 - 0.15 * s)
        columns[f"signals.s{s:02d}"] = pa.array(rng.normal(size=n) - shift * label)
    pq.write_table(pa.table(columns), arguments.out)


if __name__ == "__main__":
    main()
