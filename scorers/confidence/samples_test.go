package confidence_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"plumbline/internal/shareddata"
	plumblinev1 "plumbline/proto/plumbline/v1"
)

// TestSampledAnswers reproduces, on real answers sampled from two models, how
// well two scores tell right answers from wrong ones: the share of the other
// samples that equal the first, and the negated entropy over the other
// samples. The expected figures are an independent script's, rounded to four
// digits. That script knows ASCII punctuation only; compared like with like,
// self-consistency must be equal, and the entropy as near as rounding noise
// allows, which in the script decides between splits of equal entropy. With
// our rule for Unicode's punctuation the figures must be close.
func TestSampledAnswers(t *testing.T) {
	type figures struct{ consistency, entropy float64 }
	for _, c := range []struct {
		file string
		want figures
	}{
		{"uqnlg_triviaqa_llama13b.jsonl.gz", figures{0.8865, 0.8301}},
		{"donia_triviaqa_qwen2.5-3b.jsonl.gz", figures{0.6871, 0.7269}},
	} {
		questions := slices.Collect(shareddata.Rows[sampledQuestion](t, "data", "samples", c.file))
		for _, reading := range []struct {
			name   string
			text   func(string) string
			within figures
		}{
			{"ASCII punctuation", hideUnicodePunctuation, figures{0.00005, 0.0004}},
			{"all punctuation", func(text string) string { return text }, figures{0.001, 0.002}},
		} {
			t.Run(c.file+", "+reading.name, func(t *testing.T) {
				var correct []bool
				var consistencies, entropies []float64
				for _, q := range questions {
					var others []*plumblinev1.Sample
					for _, s := range q.Samples[1:] {
						others = append(others, &plumblinev1.Sample{Text: reading.text(s.Text)})
					}
					sc := run(nil, &plumblinev1.ScoreConfidenceRequest{MainAnswer: reading.text(q.MainAnswer), Samples: others}).GetSc()
					entropy := run(nil, &plumblinev1.ScoreConfidenceRequest{Samples: others}).GetSemanticEntropy()
					correct = append(correct, q.Correct)
					consistencies = append(consistencies, sc.GetValue())
					entropies = append(entropies, -entropy.GetValue())
				}
				got := figures{auroc(correct, consistencies), auroc(correct, entropies)}
				if math.Abs(got.consistency-c.want.consistency) > reading.within.consistency ||
					math.Abs(got.entropy-c.want.entropy) > reading.within.entropy {
					t.Errorf("AUROC of sc and negated entropy %.5f, want %.4f within %v", got, c.want, reading.within)
				}
				t.Logf("AUROC of sc and negated entropy %.5f", got)
			})
		}
	}
}

// hideUnicodePunctuation replaces every punctuation mark beyond ASCII by a
// character of its own that is neither punctuation nor a letter.
func hideUnicodePunctuation(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x80 && (unicode.IsPunct(r) || r == '´') {
			return 0xE000 + r%0x1000
		}
		return r
	}, text)
}

type sampledQuestion struct {
	Question   string `json:"question"`
	MainAnswer string `json:"main_answer"`
	Correct    bool   `json:"correct"`
	Samples    []struct {
		Text string `json:"text"`
	} `json:"samples"`
}

// auroc is the share of (right, wrong) pairs in which the right answer scores
// higher, ties counting half.
func auroc(correct []bool, scores []float64) float64 {
	var won, pairs float64
	for i, right := range correct {
		for j, other := range correct {
			if !right || other {
				continue
			}
			pairs++
			switch {
			case scores[i] > scores[j]:
				won++
			case scores[i] == scores[j]:
				won += 0.5
			}
		}
	}
	return won / pairs
}
