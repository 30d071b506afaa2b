"""The digest of pinned.yaml, computed without our code: the canonical JSON of
the policy is written by hand here (keys sorted, no blanks, RFC 8785 numbers; U+2028 escaped, as Go does)
and hashed. Run: python3 pinned_digest.py > pinned.digest"""

import hashlib

CANONICAL = (
    '{"conditions":{"conditions":[{"comparison":"COMPARISON_LESS","input":"signals.max_score",'
    '"threshold":"a"}],"otherwise":"ACTION_COMMIT","then":"ACTION_RETRIEVE"},'
    '"description":"ü <&> \\" \\\\ \\u2028 1e-7",'
    '"inputs":[{"direction":"DIRECTION_HIGHER_IS_CONFIDENT","name":"signals.max_score",'
    '"range":{"min":0},"type":"INPUT_TYPE_NUMBER"}],"name":"pinned",'
    '"provenance":{"data_name":"x","fit_size":"18446744073709551615",'
    '"fitted_at":"2026-01-02T03:04:05Z"},'
    '"thresholds":{"a":1e-7,"b":0.1,"c":1e+21,"d":100000},"version":"7"}'
)
print("sha256:" + hashlib.sha256(CANONICAL.encode()).hexdigest())
