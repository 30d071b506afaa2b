package gate

import (
	"math"
	"slices"
	"strings"
)

// signalPrefix is how a policy names a retrieval signal of the telemetry.
const signalPrefix = "signals."

// knownRange is the range of the telemetry's own scores; a policy need not
// repeat it. Names that the telemetry does not have are unbounded.
func knownRange(name string) interval {
	switch strings.TrimPrefix(name, signalPrefix) {
	case "nvc", "sc", "sc_dinco", "final_conf", "p_true", "label_mass", "verbalized",
		"g_mean", "g_min", "support_rate", "semantic_entropy_normalized",
		"degree_matrix", "luq", "lexical_similarity", "margin", "prefix_divergence",
		"min_token_probability", "mean_token_probability",
		"evidence_coverage", "retriever_divergence":
		return interval{0, 1}
	case "semantic_entropy", "mean_token_entropy", "score_stddev", "dense_stddev",
		"majority_count", "majority_total", "entities":
		return interval{0, math.Inf(1)}
	case "perplexity":
		return interval{1, math.Inf(1)}
	default:
		return everything()
	}
}

// readsFusedHeight tells the signals that keep the unit of the fused ranking's
// scores. Where those come from rank fusion they depend on ranks alone.
func readsFusedHeight(name string) bool {
	signal, ok := strings.CutPrefix(name, signalPrefix)
	return ok && slices.Contains([]string{
		"max_score", "mean_score", "window_last_score", "score_gap", "confidence_gap",
		"score_stddev", "uqc", "sigma_max", "sigma_x",
	}, signal)
}
