"""The bundled model as a Python program would run it."""

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

MAX_TOKENS = 512


class Model:
    def __init__(self, weights, tokenizer, threads):
        """threads is how many threads one run takes."""
        self.tokenizer = Tokenizer.from_file(tokenizer)
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS, strategy="only_first")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])

    def encode(self, pairs):
        return self.tokenizer.encode_batch(pairs)

    def run(self, encodings):
        """Class probabilities of encodings, padded to the longest of them."""
        shape = (len(encodings), max(len(e.ids) for e in encodings))
        ids, mask, types = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        for row, e in enumerate(encodings):
            n = len(e.ids)
            ids[row, :n], mask[row, :n], types[row, :n] = e.ids, 1, e.type_ids
        (logits,) = self.session.run(["logits"], {"input_ids": ids, "attention_mask": mask, "token_type_ids": types})
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)
