"""Writes parity.json: pairs, token ids and logits from Python's ONNX Runtime.

The reference for models/engine and verifiers/embedded: the same network, run
by an independent program, with Hugging Face tokenizers. Run in this folder:

    pip install onnxruntime==1.27.0 tokenizers==0.23.3 numpy
    python make_parity.py
"""

import json
import random

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

MODEL = "../../bundled/model.int8.onnx"
TOKENIZER = "../../bundled/tokenizer.json"

SENTENCES = [
    "The ferry to the island leaves at half past six and takes forty minutes.",
    "In 1887 the town council bought the old mill for 4,200 crowns.",
    "Ms. Okonkwo-Lindqvist chairs the committee on coastal waters.",
    "The enzyme is stable up to 71.5 °C but loses half of its activity at pH 4.",
    "Nobody has seen the lighthouse keeper since the storm.",
    "Café Zürich serves crème brûlée, naïve décor and all.",
    "The library closes on Mondays; on other days it is open until eight.",
    "Revenue rose by 12% to €3.4bn, while costs fell for the third quarter in a row.",
    "Two of the five bridges were rebuilt after the flood of 1954.",
    "The committee did not approve the budget, although most members had praised it.",
    "Her second novel, \"The Salt Road\", was translated into nineteen languages.",
    "Water boils at a lower temperature on the plateau than at the coast.",
    "The train's driver said he'd never heard the alarm.",
    "東京 is written with two characters, Kyoto (京都) likewise.",
    "It's unlikely that the comet will be visible without a telescope 🔭.",
    "The patent expired in March, so that anybody may now build the pump.",
]

CLAIMS = [
    "The ferry takes less than an hour.",
    "The mill was sold in the nineteenth century.",
    "The library is open on Mondays.",
    "Costs rose in the third quarter.",
    "The committee approved the budget.",
    "Her novel was never translated.",
    "The comet can be seen with the naked eye.",
    "The bridges survived the flood of 1954.",
    "Who wrote the novel? Nobody knows.",
    "Anybody may build the pump.",
]


def pairs():
    rng = random.Random(7)
    # From one sentence to about 500 tokens; every length is a shape of its own.
    for i in range(50):
        premise = " ".join(rng.choice(SENTENCES) for _ in range(1 + i * 32 // 50))
        yield premise, rng.choice(CLAIMS)
    yield "", CLAIMS[0]
    yield SENTENCES[0], SENTENCES[0]


def main():
    tokenizer = Tokenizer.from_file(TOKENIZER)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(MODEL, options)
    rows = []
    for premise, hypothesis in pairs():
        encoding = tokenizer.encode(premise, hypothesis)
        if len(encoding.ids) > 512:
            continue
        (logits,) = session.run(
            ["logits"],
            {
                "input_ids": np.array([encoding.ids], dtype=np.int64),
                "attention_mask": np.ones((1, len(encoding.ids)), dtype=np.int64),
                "token_type_ids": np.array([encoding.type_ids], dtype=np.int64),
            },
        )
        rows.append(
            {
                "premise": premise,
                "hypothesis": hypothesis,
                "ids": encoding.ids,
                "types": encoding.type_ids,
                "logits": [float(x) for x in logits[0]],
            }
        )
    with open("parity.json", "w", encoding="utf-8") as out:
        out.write("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows) + "\n]\n")
    print(len(rows), "pairs of", min(len(r["ids"]) for r in rows), "to", max(len(r["ids"]) for r in rows), "tokens")


if __name__ == "__main__":
    main()
