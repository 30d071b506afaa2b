#!/usr/bin/env bash
# Replays recorded routing outcomes and measures confidence signals:
#
#   run.sh DATA OUT
#
# DATA holds hotpotqa.paired.jsonl.gz, nq.signals.jsonl.gz and
# MiniCheck-RoBERTa-Large.without_sliding.csv.gz; OUT gets answers, reports and
# policies. PLUMBLINE names the program.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=$1 out=$2
plumbline=${PLUMBLINE:-plumbline}
mkdir -p "$out"
calibrate() { "$plumbline" calibrate "$@" --quiet || [ $? -eq 1 ]; }
convert() { python3 "$here/convert.py" "$@"; }

# Routing: a score at its published or an even threshold, and the sweep.
convert paired "$data/hotpotqa.paired.jsonl.gz" > "$out/hotpotqa.jsonl"
while read -r score threshold; do
  calibrate replay --in "$out/hotpotqa.jsonl" --score "$score" --threshold "$threshold" --seed 1 \
    --out "$out/replay.$score.json" --report "$out/replay.$score.html" --title "HotpotQA routed by $score"
done <<'SCORES'
adaptive_rag_single_or_multi 0.5
adaptive_rag_multi 0.5
seakr_eigen_score -6
SCORES
# A threshold chosen by the F1 of one half and measured on the other.
calibrate fit --in "$out/hotpotqa.jsonl" --data-name hotpotqa.paired --name routed --signal adaptive_rag_multi,seakr_eigen_score \
  --method validation-f1 --min-separation 0.5 --then retrieve --otherwise no-retrieval --seed 1 \
  --out "$out/fit.hotpotqa.json" --report "$out/fit.hotpotqa.html" --policy-out "$out/routed.yaml"

# Confidence of answers: low perplexity, entropy and eigen score is sure.
convert signals "$data/nq.signals.jsonl.gz" > "$out/nq.jsonl"
for score in perplexity ln_entropy eigen_score; do
  calibrate evaluate --in "$out/nq.jsonl" --score "$score" --below --seed 1 --out "$out/nq.$score.json" --report "$out/nq.$score.html"
done
calibrate compare --in "$out/nq.jsonl" --score eigen_score --below --against perplexity --against-below --seed 1 --out "$out/nq.compare.json"

# A fact checker: is its score a probability, and where may one commit?
convert scores "$data/MiniCheck-RoBERTa-Large.without_sliding.csv.gz" > "$out/minicheck.jsonl"
calibrate evaluate --in "$out/minicheck.jsonl" --score minicheck --seed 1 --out "$out/minicheck.json" --report "$out/minicheck.html"
convert --wrong scores "$data/MiniCheck-RoBERTa-Large.without_sliding.csv.gz" > "$out/minicheck.wrong.jsonl"
calibrate fit --in "$out/minicheck.wrong.jsonl" --data-name llm-aggrefact --name minicheck_commit \
  --method risk-control --alpha 0.1 --delta 0.05 --then abstain --seed 1 \
  --out "$out/fit.minicheck.json" --report "$out/fit.minicheck.html" --policy-out "$out/minicheck_commit.yaml"
