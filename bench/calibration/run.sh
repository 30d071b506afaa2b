#!/usr/bin/env bash
# Fits the same 100,000 records × 20 signals with this program and with NumPy
# and scikit-learn, and says how long each took.
#
#   run.sh [BOOTSTRAP]        draws for both; 1,000 if none is given
#   run.sh BOOTSTRAP DRAWS    fewer draws for the reference, which is slow
#
# PLUMBLINE and PYTHON name the programs; PYTHON needs numpy, scikit-learn and
# pyarrow.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ours=${1:-1000} theirs=${2:-${1:-1000}}
plumbline=${PLUMBLINE:-plumbline} python=${PYTHON:-python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMP_NUM_THREADS=1 TIMEFORMAT='%R s, %U s of CPU'
"$python" "$here/generate.py" "$folder/records.parquet"
echo "plumbline, $ours draws"
time "$plumbline" calibrate fit --in "$folder/records.parquet" --data-name made --bootstrap "$ours" --out "$folder/fit.json"
echo "numpy and scikit-learn, $theirs draws"
time "$python" "$here/reference.py" "$folder/records.parquet" --bootstrap "$theirs"
