package grounding

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
	"plumbline/scorers/score"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew from what the code does")

// goldenCase is one case of a golden file: a name, an input and what comes of
// it.
//
//	=== name
//	input
//	---
//	output
type goldenCase struct{ name, input, output string }

func readGolden(t *testing.T, path string) []goldenCase {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	for _, part := range strings.Split("\n"+string(data), "\n=== ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		input, output, _ := strings.Cut(body, "\n---\n")
		cases = append(cases, goldenCase{name, input, strings.TrimRight(output, "\n")})
	}
	return cases
}

func runGolden(t *testing.T, file string, run func(t *testing.T, input string) string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	var fresh strings.Builder
	for _, c := range readGolden(t, path) {
		t.Run(c.name, func(t *testing.T) {
			got := strings.TrimRight(run(t, c.input), "\n")
			fmt.Fprintf(&fresh, "=== %s\n%s\n---\n%s\n\n", c.name, c.input, got)
			if !*rewrite && got != c.output {
				t.Errorf("got\n%s\nwant\n%s", got, c.output)
			}
		})
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(fresh.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func newScorer(tb testing.TB) *Scorer {
	tb.Helper()
	s, err := New()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestClaimsGolden splits answers into claims.
func TestClaimsGolden(t *testing.T) {
	s := newScorer(t)
	runGolden(t, "claims.txt", func(_ *testing.T, input string) string {
		var b strings.Builder
		for _, c := range (form{}).answerClaims(s.split, input) {
			fmt.Fprintf(&b, "%s [%d:%d] utf16 [%d:%d]\n  text %q\n", strings.TrimPrefix(c.kind.String(), "CLAIM_KIND_"),
				c.span.bytes.Start, c.span.bytes.End, c.span.utf16.Start, c.span.utf16.End, c.text)
			if c.hypothesis != c.text {
				fmt.Fprintf(&b, "  says %q\n", c.hypothesis)
			}
		}
		return b.String()
	})
}

// TestScoreGolden scores requests. The first line of an input names the
// verifier.
func TestScoreGolden(t *testing.T) {
	s := newScorer(t)
	runGolden(t, "score.txt", func(t *testing.T, input string) string {
		name, body, _ := strings.Cut(input, "\n")
		req := &plumblinev1.ScoreGroundingRequest{}
		if err := protojson.Unmarshal([]byte(body), req); err != nil {
			t.Fatal(err)
		}
		return render(s.Score(t.Context(), verifierNamed(t, name), req))
	})
}

// verifierNamed returns the verifier of a golden case.
func verifierNamed(t *testing.T, name string) entail.Verifier {
	t.Helper()
	kind, arg, _ := strings.Cut(name, " ")
	switch kind {
	case "overlap":
		return neutral()
	case "down":
		return entailtest.Failing{Err: fmt.Errorf("connection refused")}
	case "late":
		return entailtest.Failing{Err: context.DeadlineExceeded}
	case "none":
		return nil
	case "short": // a judge whose reply was cut off after one verdict
		return short{neutral()}
	case "two": // a verifier of two classes
		return described{Verifier: twoClass(), change: func(d *entail.Description) { d.ThreeClass = false }}
	case "named":
		return described{Verifier: neutral(), change: func(d *entail.Description) { d.Name = arg }}
	case "pairfails": // on premises with the word
		return entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
			if strings.Contains(p.Premise, arg) {
				return entail.Scores{}, score.Unavailable("the worker was lost")
			}
			return entailtest.Support(1), nil
		})
	case "negation": // contradicts where exactly one side has "not"
		return entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
			if strings.Contains(p.Premise, " not ") != strings.Contains(p.Hypothesis, " not ") {
				return entailtest.Contradict(0.9), nil
			}
			return entailtest.Support(0.9), nil
		})
	}
	t.Fatalf("no verifier is called %q", name)
	return nil
}

// described changes what a verifier says of itself.
type described struct {
	entail.Verifier
	change func(*entail.Description)
}

func (d described) Describe(ctx context.Context) (entail.Description, error) {
	desc, err := d.Verifier.Describe(ctx)
	d.change(&desc)
	return desc, err
}

// short answers the first pair of a call only.
type short struct{ entail.Verifier }

func (s short) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	b, err := s.Verifier.Verify(ctx, pairs)
	b.Results = b.Results[:min(1, len(b.Results))]
	return b, err
}

// neutral supports by common words and contradicts nothing.
func neutral() entail.Verifier {
	overlap := entailtest.Overlap()
	return entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
		s, err := overlap(p)
		return entail.Scores{Entailment: s.Entailment, Neutral: 1 - s.Entailment, ThreeClass: true}, err
	})
}

func twoClass() entail.Verifier {
	overlap := entailtest.Overlap()
	return entailtest.Func(func(p entail.Pair) (entail.Scores, error) {
		s, err := overlap(p)
		return entail.Scores{Entailment: s.Entailment}, err
	})
}

// render writes a response for people.
func render(r *plumblinev1.ScoreGroundingResponse) string {
	var b strings.Builder
	for _, c := range r.GetClaims() {
		fmt.Fprintf(&b, "claim %s of %d, %s: %q\n", c.GetId(), c.GetAnswerIndex(), strings.TrimPrefix(c.GetKind().String(), "CLAIM_KIND_"), c.GetText())
		if c.GetHypothesis() != c.GetText() {
			fmt.Fprintf(&b, "  hypothesis %q\n", c.GetHypothesis())
		}
		if c.GetStatus() != plumblinev1.Status_STATUS_OK {
			fmt.Fprintf(&b, "  %s: %s\n", c.GetStatus(), c.GetReason())
			continue
		}
		fmt.Fprintf(&b, "  %s, support %s, contradiction %s\n", c.GetVerdict(), renderScore(c.GetSupport()), renderScore(c.GetContradiction()))
		fmt.Fprintf(&b, "  best %s\n", renderBest(c.GetBest()))
		if c.GetContradicting() != nil {
			fmt.Fprintf(&b, "  contradicting %s\n", renderBest(c.GetContradicting()))
		}
		for _, m := range c.GetMismatches() {
			fmt.Fprintf(&b, "  %s %q\n", m.GetFlag(), m.GetText())
		}
	}
	for _, a := range r.GetAnswers() {
		fmt.Fprintf(&b, "answer %d: %s, g_mean %s, g_min %s, scored %d, not scored %d, %s\n", a.GetIndex(), renderStatus(a.GetStatus(), a.GetReason()),
			renderScore(a.GetGMean()), renderScore(a.GetGMin()), a.GetScored(), a.GetNotScored(), a.GetVerdict())
	}
	fmt.Fprintf(&b, "%s, %s\n", renderStatus(r.GetStatus(), r.GetReason()), r.GetVerdict())
	fmt.Fprintf(&b, "g_mean %s, g_min %s of claim %q, support_rate %s\n", renderScore(r.GetGMean()), renderScore(r.GetGMin()), r.GetGMinClaim(), renderScore(r.GetSupportRate()))
	c := r.GetCoverage()
	fmt.Fprintf(&b, "scored %d, not scored %d; tokens %d, scored %d; chunks %d, pairs %d; %s, %s\n",
		r.GetScored(), r.GetNotScored(), c.GetTokens(), c.GetTokensScored(), c.GetChunks(), c.GetPairs(), r.GetFailMode(), r.GetModel().GetName())
	for _, w := range r.GetWarnings() {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func renderStatus(s plumblinev1.Status, reason string) string {
	if reason == "" {
		return s.String()
	}
	return fmt.Sprintf("%s (%s)", s, reason)
}

func renderScore(s *plumblinev1.Score) string {
	if s.Value == nil {
		return s.GetStatus().String()
	}
	text := fmt.Sprintf("%.4g", s.GetValue())
	if s.GetReason() != "" {
		text += " (" + s.GetReason() + ")"
	}
	return text
}

func renderBest(b *plumblinev1.BestChunk) string {
	return fmt.Sprintf("%s[%d:%d] %q", b.GetEvidenceId(), b.GetStart(), b.GetEnd(), b.GetQuote())
}

// failingAfter fails every call after the first few.
type failingAfter struct {
	entail.Verifier
	calls *int
	after int
}

func (f failingAfter) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	*f.calls++
	if *f.calls > f.after {
		return entail.Batch{}, fmt.Errorf("connection reset")
	}
	return f.Verifier.Verify(ctx, pairs)
}
