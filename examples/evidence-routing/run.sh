#!/usr/bin/env bash
# Goes from rankings to policies and reports:
#
#   run.sh DATA RANKINGS OUT [CORPUS …]
#
# DATA holds the corpora (see corpora.py), RANKINGS what make_rankings.py wrote:
# NAME.jsonl and NAME.labels.jsonl.
# OUT gets, for each corpus, the signals and one answer, report and policy for
# each way of fitting: "article" keeps signals above a separation of 0.65 as the
# article does; "bar60" keeps those above 0.60; "classifier" is a logistic
# regression over those above 0.55; "five" lets only the article's five take
# part, at its bar. Besides, "retrievers" measures each retriever by itself, and
# "unanswerable", where the corpus has such questions, whether the signals tell
# them from the others. PLUMBLINE and PYTHON name the programs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=$1 rankings=$2 out=$3
shift 3
plumbline=${PLUMBLINE:-plumbline} python=${PYTHON:-python3}
mkdir -p "$out"
if [ $# -eq 0 ]; then set -- hotpotqa cranfield cisi squad2_halfdev; fi

# fit NAME CORPUS FLAG… leaves what is attainable; exit code 1 says that no
# policy was, or that the signals of other questions were left out: an answer.
fit() {
  local name=$1 corpus=$2
  shift 2
  "$plumbline" calibrate fit --signals "$out/$corpus.signals.jsonl" --labels "$out/$corpus.answerable.jsonl" \
    --label weak --data-name "$corpus" --name "${corpus}_$name" --seed 1 --quiet \
    --out "$out/$corpus.$name.json" --report "$out/$corpus.$name.html" \
    --policy-out "$out/$corpus.$name.yaml" "$@" || [ $? -eq 1 ]
}

for corpus in "$@"; do
  # Questions whose evidence is not in the corpus have no good retrieval.
  grep -v '"unanswerable": true' "$rankings/$corpus.labels.jsonl" > "$out/$corpus.answerable.jsonl"
  "$plumbline" score retrieval --in "$rankings/$corpus.jsonl" --out "$out/$corpus.signals.jsonl" --quiet
  fit article "$corpus"
  fit five "$corpus" --signal max_score,score_stddev,dense_stddev,evidence_coverage,retriever_divergence
  fit bar60 "$corpus" --min-separation 0.60
  fit classifier "$corpus" --combination logistic --min-separation 0.55
  "$python" "$here/retrievers.py" --data "$data" --corpus "$corpus" --rankings "$rankings/$corpus.jsonl" > "$out/$corpus.retrievers.jsonl"
  "$plumbline" calibrate evaluate --in "$out/$corpus.retrievers.jsonl" --score top --seed 1 --quiet --out "$out/$corpus.retrievers.json"
  if grep -q '"unanswerable": true' "$rankings/$corpus.labels.jsonl"; then
    fit unanswerable "$corpus" --labels "$rankings/$corpus.labels.jsonl" --label unanswerable --combination logistic --min-separation 0.55
  fi
done
