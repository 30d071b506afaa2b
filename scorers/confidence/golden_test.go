package confidence_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"plumbline/internal/shareddata"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/answer"
	"plumbline/scorers/confidence"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

const tolerance = 1e-9

// goldenCase is one worked value: what goes in, what must come out, and what
// likely mistakes would give.
type goldenCase struct {
	ID       string         `yaml:"id"`
	Inputs   values         `yaml:"inputs"`
	Expected values         `yaml:"expected"`
	Trap     map[string]any `yaml:"trap"`
}

// values are the fields of a case; a missing number is nil.
type values map[string]any

func (v values) has(name string) bool { _, ok := v[name]; return ok }

func (v values) text(name string) string { return fmt.Sprint(v[name]) }

func (v values) number(name string) float64 { return toNumber(v[name]) }

func (v values) list(name string) []any { return v[name].([]any) }

func (v values) texts(name string) []string {
	var texts []string
	for _, x := range v.list(name) {
		texts = append(texts, fmt.Sprint(x))
	}
	return texts
}

func (v values) numbers(name string) []float64 { return toNumbers(v[name]) }

// optional are numbers of which some may be nil.
func (v values) optional(name string) []*float64 {
	list := v.list(name)
	numbers := make([]*float64, len(list))
	for i, x := range list {
		if x != nil {
			n := toNumber(x)
			numbers[i] = &n
		}
	}
	return numbers
}

func (v values) matrix(name string) [][]float64 {
	var rows [][]float64
	for _, row := range v.list(name) {
		rows = append(rows, toNumbers(row))
	}
	return rows
}

func toNumbers(list any) []float64 {
	var numbers []float64
	for _, x := range list.([]any) {
		numbers = append(numbers, toNumber(x))
	}
	return numbers
}

// toNumber reads what YAML may write as an integer; nil is 0, for a diagonal
// that is not used.
func toNumber(x any) float64 {
	switch x := x.(type) {
	case nil:
		return 0
	case int:
		return float64(x)
	case float64:
		return x
	default:
		panic(fmt.Sprintf("no number: %v", x))
	}
}

// goldenChecks computes the expected fields of the cases whose id has the
// prefix; the longest prefix counts. A nil check belongs to another package.
var goldenChecks = map[string]func(values) values{
	"nvc-":                       goldenNVC,
	"nvc-clean-":                 goldenCandidates,
	"ptrue-":                     goldenPTrue,
	"minicheck-7b-first-token":   goldenPrompted,
	"minicheck-7b-no-yes-token":  goldenPrompted,
	"minicheck-7b-neither-token": goldenPrompted,
	"sc-":                        goldenDinco,
	"sc-factscore-variant":       goldenLongForm,
	"final-conf":                 goldenFinalConf,
	"agreement-":                 goldenAgreementRate,
	"normalise-":                 goldenNormalise,
	"se-discrete":                goldenDiscrete,
	"se-normalised-uqlm":         goldenNormalisedEntropy,
	"clusters-":                  goldenClusters,
	"equivalence-":               goldenEquivalence,
	"se-rao-":                    goldenWeighted,
	"se-one-sample-":             goldenWeighted,
	"se-no-logprobs-":            goldenWeighted,
	"graph-":                     goldenGraph,
	"semantic-sets-":             goldenSets,
	"luq":                        goldenLUQ,
	"lexical-":                   goldenLexical,
	"gram-":                      goldenGram,
	"gram-gate-border":           nil,
	"targ-":                      goldenTarg,
	"targ-budget-":               nil,
	"targ-threshold-":            nil,
}

func TestGolden(t *testing.T) {
	t.Run("own", func(t *testing.T) { runGolden(t, "testdata/golden.yaml") })
	t.Run("shared", func(t *testing.T) { runGolden(t, shareddata.Path(t, "cases", "golden_formulas.yaml")) })
}

func runGolden(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	if err := yaml.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	ran := make(map[string]bool)
	for _, c := range cases {
		prefix := longestPrefix(c.ID)
		ran[prefix] = true
		check := goldenChecks[prefix]
		if check == nil {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			got := check(c.Inputs)
			for name, want := range c.Expected {
				if name == "action" || name == "reference" || name == "how" {
					continue // a gate's, or the source's own value
				}
				requireEqual(t, name, got[name], want)
				for mistake, value := range c.Trap {
					if c.Expected.has(mistake) && mistake != name {
						continue // a mistake in another field
					}
					requireNot(t, mistake, got[name], value)
				}
			}
		})
	}
	for prefix, check := range goldenChecks {
		if check != nil && !ran[prefix] {
			t.Errorf("no case begins with %q", prefix)
		}
	}
}

func longestPrefix(id string) string {
	var longest string
	for prefix := range goldenChecks {
		if strings.HasPrefix(id, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	return longest
}

// requireEqual compares numbers within the tolerance and everything else
// exactly. A status is compared with the one of a score without a value.
func requireEqual(t *testing.T, name string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case int, float64:
		number, ok := got.(float64)
		if !ok || math.Abs(number-toNumber(want)) > tolerance || (number == 0 && math.Signbit(number)) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			t.Errorf("%s = %v, want %v", name, got, want)
			return
		}
		for i := range want {
			requireEqual(t, fmt.Sprintf("%s[%d]", name, i), list[i], want[i])
		}
	case values:
		fields, ok := got.(values)
		if !ok {
			t.Errorf("%s = %v, want %v", name, got, want)
			return
		}
		for field := range want {
			requireEqual(t, name+"."+field, fields[field], want[field])
		}
	case string:
		text := fmt.Sprint(got)
		if text != want && (name != "missing" || !strings.Contains(text, want)) {
			t.Errorf("%s = %q, want %q", name, text, want)
		}
	default:
		if got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

// requireNot makes sure that a likely mistake is not ours.
func requireNot(t *testing.T, mistake string, got, trap any) {
	t.Helper()
	number, isNumber := got.(float64)
	switch trap := trap.(type) {
	case int, float64:
		if isNumber && math.Abs(number-toNumber(trap)) <= tolerance {
			t.Errorf("got %v, which is the mistake %q", got, mistake)
		}
	}
}

// scored is a score's number, or its status as a field.
func scored(s *plumblinev1.Score) any {
	if s.GetStatus() == plumblinev1.Status_STATUS_OK {
		return s.GetValue()
	}
	return values{"status": s.GetStatus().String(), "reason": s.GetReason()}
}

// withStatus adds the status of a missing score to the fields.
func withStatus(fields values, s *plumblinev1.Score) values {
	if s.GetStatus() != plumblinev1.Status_STATUS_OK {
		fields["status"] = s.GetStatus().String()
		fields["missing"] = s.GetReason()
	}
	return fields
}

func anyList[T any](list []T) []any {
	result := make([]any, len(list))
	for i, x := range list {
		result[i] = x
	}
	return result
}

const question = "Which one?"

// inContext is how the package shows an answer to the verifier.
func inContext(text string) string { return "Question: " + question + " Answer: " + text }

// tableOf answers pairs of the texts by matrices; a nil matrix is all 0.
func tableOf(texts []string, entailment, contradiction [][]float64) entail.Verifier {
	table := make(map[entail.Pair]entail.Scores)
	for i, premise := range texts {
		for j, hypothesis := range texts {
			s := entail.Scores{ThreeClass: true}
			if entailment != nil {
				s.Entailment = entailment[i][j]
			}
			if contradiction != nil {
				s.Contradiction = contradiction[i][j]
			}
			s.Neutral = max(1-s.Entailment-s.Contradiction, 0)
			table[entail.Pair{Premise: inContext(premise), Hypothesis: inContext(hypothesis)}] = s
		}
	}
	return entailtest.Table(table)
}

func numbered(prefix string, n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = prefix + " " + strconv.Itoa(i)
	}
	return texts
}

func samplesOf(texts ...string) []*plumblinev1.Sample {
	samples := make([]*plumblinev1.Sample, len(texts))
	for i, text := range texts {
		samples[i] = &plumblinev1.Sample{Text: text}
	}
	return samples
}

func scoreWith(v entail.Verifier, req *plumblinev1.ScoreConfidenceRequest) *plumblinev1.ScoreConfidenceResponse {
	req.Question = question
	return confidence.Score(context.Background(), v, req)
}

func goldenNVC(in values) values {
	pTrue := in.optional("p_true")
	texts := numbered("candidate", len(pTrue))
	entailment, contradiction := in.matrix("entail"), in.matrix("contradict")
	req := &plumblinev1.ScoreConfidenceRequest{MainAnswer: texts[0], PTrue: pTrue[0]}
	for i, text := range texts[1:] {
		req.Alternatives = append(req.Alternatives, &plumblinev1.Alternative{Text: text, PTrue: pTrue[i+1]})
	}
	nvc := scoreWith(tableOf(texts, entailment, contradiction), req).GetNvc()
	got := withStatus(values{"nvc": scored(nvc), "alternatives_used": float64(nvc.GetNUsed())}, nvc)
	if pTrue[0] == nil {
		return got
	}
	belief := confidence.NVC(pTrue,
		func(i, j int) float64 { return entailment[i][j] },
		func(i, j int) float64 { return contradiction[i][j] })
	got["D"], got["w"], got["u"] = belief.D, anyList(belief.W), anyList(belief.U)
	got["alternatives_dropped"] = float64(belief.Dropped)
	return got
}

func goldenCandidates(in values) values {
	texts := in.texts("texts")
	var kept []any
	for _, i := range confidence.DistinctCandidates(texts, in.numbers("log_likelihoods")) {
		kept = append(kept, confidence.Clean(texts[i]))
	}
	return values{"kept": kept}
}

func firstTokens(in values) []*plumblinev1.TokenLogprob {
	var tokens []*plumblinev1.TokenLogprob
	add := func(token string, logprob float64) {
		tokens = append(tokens, &plumblinev1.TokenLogprob{Token: token, Logprob: &logprob})
	}
	for _, key := range []string{"top_logprobs", "top5"} {
		if in.has(key) {
			for _, top := range in.list(key) {
				fields := top.(values)
				add(fields.text("token"), fields.number("logprob"))
			}
		}
	}
	if in.has("top_probs") {
		for _, top := range in.list("top_probs") {
			fields := top.(values)
			add(fields.text("token"), math.Log(fields.number("prob")))
		}
	}
	if in.has("logits") {
		logits := in["logits"].(values)
		total := math.Log(math.Exp(logits.number("Yes")) + math.Exp(logits.number("No")))
		for _, token := range []string{"Yes", "No"} {
			add(token, logits.number(token)-total)
		}
	}
	return tokens
}

func goldenPTrue(in values) values {
	resp := scoreWith(nil, &plumblinev1.ScoreConfidenceRequest{FirstTokenLogprobs: firstTokens(in)})
	return withStatus(values{"p_true": scored(resp.GetPTrue()), "mass": scored(resp.GetLabelMass())}, resp.GetPTrue())
}

func goldenPrompted(in values) values {
	got := goldenPTrue(in)
	got["ours"], got["ours_stripped_folded_normalised"] = got["p_true"], got["p_true"]
	// These cases round their probabilities to twelve digits and state a mass
	// of two.
	if mass, ok := got["mass"].(float64); ok {
		got["mass"] = math.Round(mass*1e9) / 1e9
	}
	return got
}

func goldenDinco(in values) values {
	main := "main"
	if in.has("main") {
		main = in.text("main")
	}
	var texts []string
	if in.has("samples") {
		texts = in.texts("samples")
	}
	forward := dincoMeans(in)
	backward := forward
	if in.has("entail_main_to_sample") {
		forward, backward = in.numbers("entail_main_to_sample"), in.numbers("entail_sample_to_main")
	}
	if texts == nil {
		texts = numbered("sample", len(forward))
	}
	if main == "main" && in.has("samples") {
		main = texts[0]
	}
	all := []string{main}
	entailment := [][]float64{append([]float64{0}, forward...)}
	for i, text := range texts {
		row := make([]float64, len(texts)+1)
		row[0] = backward[i]
		all, entailment = append(all, confidence.Clean(text)), append(entailment, row)
	}
	// A sample that equals the main answer must not overwrite its table row.
	all, entailment = withoutRepeats(all, entailment)
	resp := scoreWith(tableOf(all, entailment, nil), &plumblinev1.ScoreConfidenceRequest{
		MainAnswer:  main,
		Samples:     samplesOf(texts...),
		Agreement:   plumblinev1.Agreement_AGREEMENT_DINCO,
		Equivalence: plumblinev1.Equivalence_EQUIVALENCE_EXACT,
	})
	sc := resp.GetSc()
	got := values{"sc": scored(sc), "n_samples": float64(sc.GetNUsed())}
	if sc.GetStatus() == plumblinev1.Status_STATUS_OK {
		got["agreeing"] = math.Round(sc.GetValue()*float64(len(texts)+1)) - 1
	}
	var means []any
	for i := range forward {
		means = append(means, (forward[i]+backward[i])/2)
	}
	got["agreement_with_main"] = means
	return withStatus(got, sc)
}

func dincoMeans(in values) []float64 {
	for _, key := range []string{"agreement_with_main", "entail_mean_if_not_identical"} {
		if in.has(key) {
			return in.numbers(key)
		}
	}
	return nil
}

func withoutRepeats(texts []string, rows [][]float64) (kept []string, matrix [][]float64) {
	var at []int
	for i, text := range texts {
		if slices.Index(texts, text) == i {
			at = append(at, i)
		}
	}
	for _, i := range at {
		kept = append(kept, texts[i])
		var row []float64
		for _, j := range at {
			row = append(row, rows[i][j])
		}
		matrix = append(matrix, row)
	}
	return kept, matrix
}

func goldenLongForm(in values) values {
	return values{"sc": confidence.LongFormConsistency(in.numbers("p_support_per_sample")).Number}
}

func goldenFinalConf(in values) values {
	part := func(name string) confidence.Value {
		if in[name] == nil {
			req := &plumblinev1.ScoreConfidenceRequest{MainAnswer: "main"}
			return confidence.Value{Err: missingOf(scoreWith(nil, req).GetNvc())}
		}
		return confidence.Value{Number: in.number(name)}
	}
	return ofValue("final_conf", confidence.FinalConf(part("nvc"), part("sc")))
}

func goldenAgreementRate(in values) values {
	resp := scoreWith(nil, &plumblinev1.ScoreConfidenceRequest{
		MainAnswer:    in.text("main"),
		Samples:       samplesOf(in.texts("samples")...),
		Normalization: plumblinev1.Normalization_NORMALIZATION_SQUAD,
	})
	return values{"rate": scored(resp.GetSc())}
}

func goldenNormalise(in values) values {
	text := in.text("text")
	return values{"triviaqa": answer.Normalize(answer.TriviaQA, text), "squad": answer.Normalize(answer.SQuAD, text)}
}

// spellings returns texts that are equal after normalisation if their labels
// are, and all different as written.
func spellings(labels []float64) []string {
	texts := make([]string, len(labels))
	for i, l := range labels {
		texts[i] = fmt.Sprintf("answer %g%s", l, strings.Repeat("!", i))
	}
	return texts
}

func goldenDiscrete(in values) values {
	resp := scoreWith(nil, &plumblinev1.ScoreConfidenceRequest{Samples: samplesOf(spellings(in.numbers("clusters"))...)})
	return values{"entropy": scored(resp.GetSemanticEntropy()), "normalized": scored(resp.GetSemanticEntropyNormalized())}
}

func goldenNormalisedEntropy(in values) values {
	texts := spellings(in.numbers("clusters_main_first"))
	resp := scoreWith(nil, &plumblinev1.ScoreConfidenceRequest{MainAnswer: texts[0], Samples: samplesOf(texts[1:]...)})
	normalized := resp.GetSemanticEntropyNormalized().GetValue()
	return values{"entropy": scored(resp.GetSemanticEntropy()), "normalized": normalized, "confidence": 1 - normalized}
}

func goldenClusters(in values) values {
	n := int(in.number("count"))
	equivalent := make(map[[2]int]bool)
	for _, pair := range in.matrix("equivalent_pairs") {
		equivalent[[2]int{int(pair[0]), int(pair[1])}] = true
	}
	got := make(values)
	for name, rule := range map[string]confidence.Clustering{
		"union_find":              confidence.ClusterUnionFind,
		"first_head_lm_polygraph": confidence.ClusterFirstHead,
		"last_head_jlko":          confidence.ClusterLastHead,
		"every_head_uqlm":         confidence.ClusterEveryHead,
	} {
		groups := confidence.Cluster(rule, n, func(i, j int) bool { return equivalent[[2]int{i, j}] })
		clusters := labelsOf(groups, n)
		if rule == confidence.ClusterEveryHead {
			clusters = nil
			for _, g := range groups {
				var members []any
				for _, m := range g {
					members = append(members, float64(m))
				}
				clusters = append(clusters, members)
			}
		}
		got[name] = clusters
		if n == 3 { // this case states the entropy, too
			got[name] = values{"clusters": clusters, "entropy": confidence.DiscreteEntropy(confidence.Masses(groups, nil))}
		}
	}
	return got
}

func labelsOf(groups [][]int, n int) []any {
	labels := make([]any, n)
	for g, group := range groups {
		for _, i := range group {
			labels[i] = float64(g)
		}
	}
	return labels
}

func goldenEquivalence(values) values {
	classes := []struct {
		name  string
		class confidence.Class
	}{{"contradiction", confidence.Contradiction}, {"neutral", confidence.Neutral}, {"entailment", confidence.Entailment}}
	var table []any
	for _, ab := range classes {
		for _, ba := range classes {
			table = append(table, values{
				"ab": ab.name, "ba": ba.name,
				"strict":     confidence.EquivalentStrict.Holds(ab.class, ba.class),
				"non_strict": confidence.EquivalentNonStrict.Holds(ab.class, ba.class),
				"either":     confidence.EquivalentEither.Holds(ab.class, ba.class),
			})
		}
	}
	return values{"table": table}
}

func goldenWeighted(in values) values {
	labels := in.numbers("clusters")
	texts := spellings(labels)
	var aliases []string
	if in.has("texts") {
		texts = in.texts("texts")
		for l := range len(labels) {
			var set []string
			for i, text := range texts {
				if labels[i] == float64(l) {
					set = append(set, text)
				}
			}
			aliases = append(aliases, strings.Join(set, "\n"))
		}
	}
	samples := samplesOf(texts...)
	for i, s := range samples {
		if in.has("logprobs") {
			s.Logprob = in.optional("logprobs")[i]
		} else {
			s.TokenLogprobs = in.matrix("token_logprobs")[i]
		}
	}
	with := func(sequence plumblinev1.SequenceScore, duplicates plumblinev1.Duplicates) *plumblinev1.ScoreConfidenceResponse {
		return scoreWith(nil, &plumblinev1.ScoreConfidenceRequest{
			Samples: samples, Aliases: aliases, SequenceScore: sequence, Duplicates: duplicates,
		})
	}
	mean := with(plumblinev1.SequenceScore_SEQUENCE_SCORE_MEAN, plumblinev1.Duplicates_DUPLICATES_ONCE)
	sum := with(plumblinev1.SequenceScore_SEQUENCE_SCORE_SUM, plumblinev1.Duplicates_DUPLICATES_ONCE)
	each := with(plumblinev1.SequenceScore_SEQUENCE_SCORE_MEAN, plumblinev1.Duplicates_DUPLICATES_EACH)
	weighted := scored(mean.GetSemanticEntropyWeighted())
	return withStatus(values{
		"entropy":                      weighted,
		"entropy_length_normalised":    weighted,
		"rao_distinct_texts_once":      weighted,
		"entropy_sequence":             scored(sum.GetSemanticEntropyWeighted()),
		"rao_each_occurrence_jlko":     scored(each.GetSemanticEntropyWeighted()),
		"discrete":                     scored(mean.GetSemanticEntropy()),
		"mc_entropy_length_normalised": scored(mean.GetSequenceEntropy()),
		"mc_entropy_sequence":          scored(sum.GetSequenceEntropy()),
		"n_used":                       float64(mean.GetSemanticEntropyWeighted().GetNUsed()),
	}, mean.GetSemanticEntropyWeighted())
}

// entailed scores a request of samples under an entailment rule.
func entailed(entailment, contradiction [][]float64) *plumblinev1.ScoreConfidenceResponse {
	texts := numbered("response", len(entailment))
	return scoreWith(tableOf(texts, entailment, contradiction), &plumblinev1.ScoreConfidenceRequest{
		Samples:     samplesOf(texts...),
		Equivalence: plumblinev1.Equivalence_EQUIVALENCE_STRICT,
	})
}

func goldenGraph(in values) values {
	matrix := "entail"
	if in.has("similarity") {
		matrix = "similarity"
	}
	resp := entailed(in.matrix(matrix), nil)
	return values{
		"degree_matrix":         scored(resp.GetDegreeMatrix()),
		"eigenvalues_laplacian": scored(resp.GetEigenvaluesLaplacian()),
		"eccentricity":          scored(resp.GetEccentricity()),
		"luq":                   scored(resp.GetLuq()),
		"lexical_similarity":    scored(resp.GetLexicalSimilarity()),
		"semantic_sets":         scored(resp.GetSemanticSets()),
	}
}

func goldenSets(in values) values {
	return values{"semantic_sets": scored(entailed(in.matrix("entail"), in.matrix("contradict")).GetSemanticSets())}
}

// goldenLUQ turns logits into probabilities with a neutral logit of 0, which
// must not matter.
func goldenLUQ(in values) values {
	entailment, contradiction := in.matrix("entail_logits"), in.matrix("contradict_logits")
	for i := range entailment {
		for j := range entailment[i] {
			e, c := math.Exp(entailment[i][j]), math.Exp(contradiction[i][j])
			entailment[i][j], contradiction[i][j] = e/(e+c+1), c/(e+c+1)
		}
	}
	return values{"luq": scored(entailed(entailment, contradiction).GetLuq())}
}

func goldenLexical(in values) values {
	resp := scoreWith(nil, &plumblinev1.ScoreConfidenceRequest{Samples: samplesOf(in.texts("texts")...)})
	return values{"mean_pairwise_rouge_l": scored(resp.GetLexicalSimilarity())}
}

func goldenGram(in values) values {
	req := &plumblinev1.ScoreConfidenceRequest{}
	if in.has("alpha") {
		alpha := in.number("alpha")
		req.GramAlpha = &alpha
	}
	add := func(vector []float64) {
		message := &plumblinev1.Vector{}
		for _, x := range vector {
			message.Values = append(message.Values, float32(x))
		}
		req.Vectors = append(req.Vectors, message)
	}
	if in.has("vector") {
		for range int(in.number("copies")) {
			add(in.numbers("vector"))
		}
	} else {
		for _, vector := range in.matrix("vectors") {
			add(vector)
		}
	}
	if in.has("answers") {
		req.Samples = samplesOf(in.texts("answers")...)
	}
	gram := scoreWith(nil, req).GetGramLogdet()
	got := withStatus(values{"gram_logdet": scored(gram), "n_used": float64(gram.GetNUsed())}, gram)
	if len(req.Vectors) == 1 { // what the formula would give, which we do not
		got["formula_value"] = math.Log(2 + req.GetGramAlpha())
	}
	return got
}

// draftOf makes a draft whose positions have the log-probabilities.
func draftOf(positions [][]float64) *plumblinev1.Draft {
	draft := &plumblinev1.Draft{}
	for _, tops := range positions {
		token := &plumblinev1.DraftToken{Token: "x"}
		for i, l := range tops {
			token.Top = append(token.Top, &plumblinev1.TokenLogprob{Token: strconv.Itoa(i), Logprob: &l})
		}
		draft.Tokens = append(draft.Tokens, token)
	}
	return draft
}

func goldenTarg(in values) values {
	got := make(values)
	score := func(positions [][]float64) *plumblinev1.ScoreConfidenceResponse {
		req := &plumblinev1.ScoreConfidenceRequest{Drafts: []*plumblinev1.Draft{draftOf(positions)}}
		if in.has("beta") {
			beta := in.number("beta")
			req.MarginBeta = &beta
		}
		return scoreWith(nil, req)
	}
	fromGaps := func(name string) any {
		var positions [][]float64
		for _, gap := range in.numbers(name) {
			// Two log-probabilities with this gap whose probabilities sum to 1.
			best := -math.Log1p(math.Exp(-gap))
			positions = append(positions, []float64{best, best - gap})
		}
		return scored(score(positions).GetMargin())
	}
	switch {
	case in.has("distributions"):
		var positions [][]float64
		for _, distribution := range in.matrix("distributions") {
			var logs []float64
			for _, p := range distribution {
				logs = append(logs, math.Log(p))
			}
			positions = append(positions, logs)
		}
		got["mean_token_entropy"] = scored(score(positions).GetMeanTokenEntropy())
	case in.has("gaps"):
		got["margin"] = fromGaps("gaps")
	case in.has("gaps_a"):
		a, b := fromGaps("gaps_a"), fromGaps("gaps_b")
		got["margin_a"], got["margin_b"], got["more_uncertain"] = a, b, "b"
		if a.(float64) > b.(float64) {
			got["more_uncertain"] = "a"
		}
	case in.has("logprobs_top2"):
		got["margin"] = scored(score(in.matrix("logprobs_top2")).GetMargin())
	case in.has("prefixes"):
		req := &plumblinev1.ScoreConfidenceRequest{}
		for _, prefix := range in.list("prefixes") {
			draft := &plumblinev1.Draft{}
			for _, token := range prefix.([]any) {
				draft.Tokens = append(draft.Tokens, &plumblinev1.DraftToken{Token: fmt.Sprint(token)})
			}
			req.Drafts = append(req.Drafts, draft)
		}
		divergence := scoreWith(nil, req).GetPrefixDivergence()
		got["prefix_divergence"] = scored(divergence)
		return withStatus(got, divergence)
	}
	return got
}

func ofValue(name string, v confidence.Value) values {
	if v.Err == nil {
		return values{name: v.Number}
	}
	reason := reasonOf(v.Err)
	return values{"status": reason.Status.String(), "missing": reason.Reason}
}
