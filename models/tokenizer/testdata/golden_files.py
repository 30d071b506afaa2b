"""Reading and writing the files of this folder."""

import gzip
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def write(name, value):
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    # No name and no time in the header: equal content gives an equal file.
    with open(HERE / name, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(data)


def read(name):
    return json.loads(gzip.decompress((HERE / name).read_bytes()))


def bundled_tokenizer():
    """The parsed tokenizer.json of the model that comes with the program."""
    return json.loads((HERE.parent.parent / "bundled" / "tokenizer.json").read_text())


def english_words():
    return [w for w in bundled_tokenizer()["model"]["vocab"] if w.isalpha() and w.isascii() and len(w) > 1]
