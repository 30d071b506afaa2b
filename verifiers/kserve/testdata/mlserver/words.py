"""A classifier for MLServer whose answers a test can foretell.

The logit of entailment is the number of the hypothesis's words that the premise
has, that of neutral the number of those that it lacks, and that of contradiction
is 0. A premise with the word "poison" is refused, one with "break" fails.
"""

import numpy as np
from mlserver import MLModel
from mlserver.codecs import NumpyCodec, StringCodec
from mlserver.errors import InferenceError
from mlserver.types import InferenceRequest, InferenceResponse


class Words(MLModel):
    async def load(self) -> bool:
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        texts = {tensor.name: StringCodec.decode_input(tensor) for tensor in payload.inputs}
        rows = [self.logits(*pair) for pair in zip(texts["premise"], texts["hypothesis"], strict=True)]
        logits = np.array(rows, dtype=self.settings.parameters.extra["dtype"])
        return InferenceResponse(
            model_name=self.name,
            model_version=self.version,
            outputs=[
                NumpyCodec.encode_output("rows", np.arange(len(rows))),
                NumpyCodec.encode_output("logits", logits),
            ],
        )

    @staticmethod
    def logits(premise: str, hypothesis: str) -> list[float]:
        has, words = set(premise.lower().split()), hypothesis.lower().split()
        if "poison" in has:
            raise InferenceError("refused: " + premise)
        if "break" in has:
            raise RuntimeError("broken by: " + premise)
        shared = sum(word in has for word in words)
        return [shared, len(words) - shared, 0]
