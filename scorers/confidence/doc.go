// Package confidence computes how sure a generator is of an answer, from
// whatever the caller has: sampled answers, their log-probabilities,
// alternatives with P(true), the first token's top log-probabilities, drafts
// with token log-probabilities, vectors, or the raw reply.
//
// # What asks the verifier
//
// Entailment costs model time, so only these rules lead to pairs:
//
//   - Self-consistency asks for main answer and sample, both ways, if the
//     agreement names an entailment rule. AGREEMENT_EXACT needs none.
//   - DiNCo's self-consistency asks the same of the cleaned texts, if the
//     agreement is AGREEMENT_DINCO or NVC can be computed (then final_conf
//     needs it).
//   - NVC asks for every ordered pair of its candidates, if there are
//     alternatives and the main answer has a P(true).
//   - The clusters, the graph scores, LUQ and the number of semantic sets ask
//     for every ordered pair of distinct responses, if the equivalence names
//     an entailment rule; an agreement that asks the verifier makes
//     EQUIVALENCE_STRICT the default. The graph scores also need each text's
//     entailment of itself.
//
// All pairs of a request are collected first, each once, and asked in a single
// call. Equal texts are one text; a pair of equal texts is asked only where a
// score needs the verifier's own diagonal.
//
// # Context
//
// "Paris" neither entails nor contradicts "Lyon": only as answers to one
// question do they. Every answer is therefore shown to the verifier as
// "Question: … Answer: …", on both sides of the pair and for every score, NVC
// and DiNCo's self-consistency included; without a question it is shown bare.
//
// # Responses, weights, blanks
//
// The responses are the main answer, if there is one, and then the samples. A
// weight says how often a sample counts: weight 3 gives the same scores as
// three copies, weight 0 the same as leaving the sample out; the main answer
// counts once. A blank response agrees with nothing and entails nothing, but
// stays in the count: each is a cluster and an isolated node of its own,
// whatever its weight, because a generator that falls silent is not sure. The
// Gram log-determinant, which takes no weights, leaves blank samples out, as
// its source does.
//
// # Missing values
//
// A log-probability that is absent, or a sentinel of -9999 and below, is
// missing: the rest is used and counted. A score whose inputs are all missing
// carries a typed reason, never 0 or 1.
package confidence
