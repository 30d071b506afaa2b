"""Where NLTK's Punkt ends the sentences of the development sets' documents.

pip install nltk==3.10.4
python ends.py ENGLISH_JSON DEV_FOLDER ends.json.gz

ENGLISH_JSON is data/english.json of github.com/neurosnap/sentences: the
parameters of NLTK's English Punkt model, so that both sides know the same
abbreviations. The output has, for each document by the first 8 bytes of its
SHA-256, the ends of its sentences in bytes of UTF-8.
"""

import gzip
import hashlib
import json
import pathlib
import sys

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer


def tokenizer(path: str) -> PunktSentenceTokenizer:
    stored = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    parameters = PunktParameters()
    parameters.abbrev_types = set(stored["AbbrevTypes"])
    parameters.collocations = {tuple(pair.split(",")) for pair in stored["Collocations"]}
    parameters.sent_starters = set(stored["SentStarters"])
    parameters.ortho_context.update(stored["OrthoContext"])
    made = PunktSentenceTokenizer()
    made._params = parameters
    return made


def ends(punkt: PunktSentenceTokenizer, doc: str) -> list[int]:
    found, last, offset = [], 0, 0
    for _, end in punkt.span_tokenize(doc):
        offset += len(doc[last:end].encode())
        last = end
        found.append(offset)
    return found


def main() -> None:
    punkt = tokenizer(sys.argv[1])
    found = {}
    for path in sorted(pathlib.Path(sys.argv[2]).glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                doc = json.loads(line)["doc"]
                found[hashlib.sha256(doc.encode()).hexdigest()[:16]] = ends(punkt, doc)
    with gzip.GzipFile(sys.argv[3], "wb", mtime=0) as out:
        out.write(json.dumps(found, sort_keys=True).encode())


main()
