"""Writes made-up records for the benchmark, as Parquet or JSON lines.

    python generate.py records.parquet [--records 100000] [--signals 20]
    python generate.py records.jsonl --records 10000000 --signals 1

Every signal is normal; the first half of them shift with the label, each a
little less than the one before.
"""

import argparse
import json

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
    write = write_lines if arguments.out.endswith(".jsonl") else write_parquet
    write(arguments.out, tables(arguments.records, arguments.signals))


def tables(records, signals, at_once=500_000):
    """Yields the records in parts, as columns by name."""
    rng = np.random.default_rng(1)
    for start in range(0, records, at_once):
        n = min(at_once, records - start)
        label = rng.random(n) < 0.3
        columns = {
            "id": [f"r{i}" for i in range(start, start + n)],
            "split": np.where(rng.random(n) < 0.5, "calibration", "test"),
            "label": label,
        }
        for s in range(signals):
            shift = max(0.0, 1.5 - 0.15 * s)
            columns[f"signals.s{s:02d}"] = rng.normal(size=n) - shift * label
        yield columns


def write_parquet(name, parts):
    """Writes one file of all parts."""
    writer = None
    for columns in parts:
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(name, table.schema)
        writer.write_table(table)
    writer.close()


def write_lines(name, parts):
    """Writes a CalibrationRecord a line."""
    with open(name, "w", encoding="ascii") as out:
        for columns in parts:
            signals = [c for c in columns if c.startswith("signals.")]
            for i, record in enumerate(columns["id"]):
                values = {c.removeprefix("signals."): round(columns[c][i], 6) for c in signals}
                split = "SPLIT_" + columns["split"][i].upper()
                out.write(json.dumps({"id": record, "split": split, "label": bool(columns["label"][i]), "signals": values}) + "\n")


if __name__ == "__main__":
    main()
