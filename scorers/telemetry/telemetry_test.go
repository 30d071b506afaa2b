package telemetry_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"plumbline/internal/shareddata"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
	"plumbline/scorers/telemetry"
)

var update = flag.Bool("update", false, "rewrite the golden prompt blocks")

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

type golden struct {
	Numbers []struct {
		Value   float64
		Printed string
	}
	Bins []struct {
		Value float64
		Bin   string
	}
	Trends []struct {
		Before, Now float64
		Shown       string
	}
}

func TestGoldenFormats(t *testing.T) {
	var g golden
	readYAML(t, "testdata/golden.yaml", &g)
	if len(g.Numbers) == 0 || len(g.Bins) == 0 || len(g.Trends) == 0 {
		t.Fatal("the golden file lacks a part")
	}
	for _, c := range g.Numbers {
		if got := telemetry.Number(c.Value); got != c.Printed {
			t.Errorf("Number(%v) = %s, want %s", c.Value, got, c.Printed)
		}
	}
	for _, c := range g.Bins {
		if got := telemetry.Bin(c.Value); got != c.Bin {
			t.Errorf("Bin(%v) = %s, want %s", c.Value, got, c.Bin)
		}
	}
	for _, c := range g.Trends {
		if got := telemetry.Trend(c.Before, c.Now); got != c.Shown {
			t.Errorf("Trend(%v, %v) = %q, want %q", c.Before, c.Now, got, c.Shown)
		}
	}
}

// The worked formulas that lie beside the checkout.

type formula struct {
	ID       string         `yaml:"id"`
	Inputs   map[string]any `yaml:"inputs"`
	Expected map[string]any `yaml:"expected"`
}

func formulas(t *testing.T) map[string]formula {
	t.Helper()
	var all []formula
	readYAML(t, shareddata.Path(t, "cases", "golden_formulas.yaml"), &all)
	byID := map[string]formula{}
	for _, f := range all {
		byID[f.ID] = f
	}
	return byID
}

func toFloat(t *testing.T, v any) float64 {
	t.Helper()
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	t.Fatalf("%v is no number", v)
	return 0
}

func TestSharedFormats(t *testing.T) {
	all := formulas(t)
	printed := all["telemetry-number-format"]
	for i, v := range printed.Inputs["values"].([]any) {
		want := printed.Expected["printed"].([]any)[i]
		if v == nil {
			continue // an absent value is left out of the block; see TestAbsentIsSaid
		}
		if got := telemetry.Number(toFloat(t, v)); got != want {
			t.Errorf("Number(%v) = %s, want %s", v, got, want)
		}
	}
	bins := all["telemetry-bins"]
	for i, v := range bins.Inputs["values"].([]any) {
		if v == nil {
			continue
		}
		if got, want := telemetry.Bin(toFloat(t, v)), bins.Expected["bins"].([]any)[i]; got != want {
			t.Errorf("Bin(%v) = %s, want %s", v, got, want)
		}
	}
	trends := all["telemetry-trend-shown"]
	for i, v := range trends.Inputs["pairs"].([]any) {
		pair := v.([]any)
		if got, want := telemetry.Trend(toFloat(t, pair[0]), toFloat(t, pair[1])), trends.Expected["shown"].([]any)[i]; got != want {
			t.Errorf("Trend(%v) = %q, want %q", pair, got, want)
		}
	}
}

func TestSharedClaimWithoutScore(t *testing.T) {
	f := formulas(t)["telemetry-claim-without-score"]
	grounding := &plumblinev1.ScoreGroundingResponse{}
	scores := f.Inputs["scores"].([]any)
	for i, text := range f.Inputs["claims"].([]any) {
		claim := &plumblinev1.GroundedClaim{Text: text.(string)}
		if i < len(scores) {
			claim.Support = ok(toFloat(t, scores[i]))
		}
		grounding.Claims = append(grounding.Claims, claim)
	}
	view := telemetry.NewView(&plumblinev1.Telemetry{Grounding: grounding}, nil)
	for i, want := range f.Expected["lines"].([]any) {
		if view.Claims[i].Value != want {
			t.Errorf("claim %d: %q, want %q", i, view.Claims[i].Value, want)
		}
	}
}

func TestSharedConfidenceAfterRetrieval(t *testing.T) {
	f := formulas(t)["telemetry-confidence-after-retrieval"]
	first := f.Inputs["turn_1"].(map[string]any)
	kept, worth := telemetry.Keep(telemetry.Assemble(telemetry.Turn{
		Answer:     first["answer"].(string),
		Confidence: confidence(toFloat(t, first["nvc"]), toFloat(t, first["sc"]), toFloat(t, first["final_conf"]), first["answer"].(string)),
	}))
	if !worth {
		t.Fatal("the confidence is not kept")
	}
	second := telemetry.Assemble(telemetry.Turn{
		Answer: f.Inputs["turn_2_after_retrieve"].(map[string]any)["answer"].(string),
		Kept:   &kept,
	})
	want := f.Expected["turn_2"].(map[string]any)
	for name, got := range map[string]*plumblinev1.Score{"nvc": second.GetNvc(), "sc": second.GetSc(), "final_conf": second.GetFinalConf()} {
		if got.GetValue() != toFloat(t, want[name]) {
			t.Errorf("%s = %v, want %v", name, got, want[name])
		}
	}
	if second.GetComputedFor() != want["computed_for"] || second.GetStale() != want["stale"] || !second.GetReused() {
		t.Errorf("got %v", second)
	}
}

func ok(v float64) *plumblinev1.Score {
	return &plumblinev1.Score{Value: &v, Status: plumblinev1.Status_STATUS_OK}
}

func confidence(nvc, sc, final float64, answer string) *plumblinev1.ScoreConfidenceResponse {
	return &plumblinev1.ScoreConfidenceResponse{
		Nvc: ok(nvc), Sc: ok(sc), FinalConf: ok(final), ComputedFor: answer,
		Pairs: 20, Model: &plumblinev1.ModelInfo{Name: "embedded", Digest: "sha256:1"},
	}
}

func TestAssemble(t *testing.T) {
	grounding := &plumblinev1.ScoreGroundingResponse{
		GMean: ok(0.7), GMin: ok(0.5),
		Coverage: &plumblinev1.EvidenceCoverage{Pairs: 12},
		Model:    &plumblinev1.ModelInfo{Name: "embedded", Digest: "sha256:1"},
	}
	t.Run("the same turn", func(t *testing.T) {
		got := telemetry.Assemble(telemetry.Turn{Grounding: grounding, Confidence: confidence(0.4, 0.5, 0.45, "X"), Answer: " X\n"})
		if got.GetReused() || got.GetStale() || got.GetPairs() != 32 || len(got.GetModels()) != 1 || got.GetGMean().GetValue() != 0.7 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("nothing at all", func(t *testing.T) {
		got := telemetry.Assemble(telemetry.Turn{})
		for _, s := range []*plumblinev1.Score{got.GetNvc(), got.GetSc(), got.GetFinalConf(), got.GetGMean(), got.GetGMin()} {
			if s.Value != nil || s.GetStatus() != plumblinev1.Status_STATUS_MISSING_INPUT || s.GetReason() == "" {
				t.Errorf("got %v", s)
			}
		}
		if _, worth := telemetry.Keep(got); worth {
			t.Error("nothing is kept for later")
		}
	})
	t.Run("statuses are kept", func(t *testing.T) {
		none := score.Of(0, score.NoEvidence("there are no passages"))
		got := telemetry.Assemble(telemetry.Turn{Grounding: &plumblinev1.ScoreGroundingResponse{GMean: none, GMin: none}})
		if got.GetGMean().GetStatus() != plumblinev1.Status_STATUS_NO_EVIDENCE {
			t.Errorf("got %v", got.GetGMean())
		}
	})
	t.Run("a confidence without values does not hide the kept one", func(t *testing.T) {
		kept, _ := telemetry.Keep(telemetry.Assemble(telemetry.Turn{Confidence: confidence(0.4, 0.5, 0.45, "X")}))
		got := telemetry.Assemble(telemetry.Turn{Confidence: &plumblinev1.ScoreConfidenceResponse{ComputedFor: "Y"}, Kept: &kept, Answer: "X"})
		if !got.GetReused() || got.GetStale() || got.GetFinalConf().GetValue() != 0.45 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a kept turn without values hides no reason of this one", func(t *testing.T) {
		kept, _ := telemetry.Keep(telemetry.Assemble(telemetry.Turn{Grounding: grounding}))
		down := score.Of(0, score.Unavailable("the verifier is down"))
		got := telemetry.Assemble(telemetry.Turn{Confidence: &plumblinev1.ScoreConfidenceResponse{Nvc: down, ComputedFor: "Y"}, Kept: &kept, Answer: "Y"})
		if got.GetReused() || got.GetNvc().GetStatus() != down.GetStatus() || got.GetComputedFor() != "Y" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a new confidence replaces the kept one", func(t *testing.T) {
		kept, _ := telemetry.Keep(telemetry.Assemble(telemetry.Turn{Confidence: confidence(0.4, 0.5, 0.45, "X")}))
		got := telemetry.Assemble(telemetry.Turn{Confidence: confidence(0.8, 0.9, 0.85, "Y"), Kept: &kept, Answer: "Y"})
		if got.GetReused() || got.GetFinalConf().GetValue() != 0.85 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("what is kept is a copy", func(t *testing.T) {
		tel := telemetry.Assemble(telemetry.Turn{Confidence: confidence(0.4, 0.5, 0.45, "X")})
		kept, _ := telemetry.Keep(tel)
		*tel.GetNvc().Value = 1
		if kept.NVC.GetValue() != 0.4 {
			t.Error("a later change reaches the store")
		}
	})
}

// full is a telemetry with everything in it.
func full() *plumblinev1.Telemetry {
	coverage, spread, rrf := 0.75, 0.041, 0.0325
	return telemetry.Assemble(telemetry.Turn{
		Answer:     "Y",
		Confidence: confidence(0.49536914527652814, 0.6666666666666666, 0.5810179059715974, "X\n ignore this"),
		Grounding: &plumblinev1.ScoreGroundingResponse{
			GMean: ok(0.7266666666666667), GMin: ok(0.55),
			Claims: []*plumblinev1.GroundedClaim{
				{Text: "Paris is in\n\n- France.", Support: ok(0.92)},
				{Text: "Is it?", Support: score.Of(0, score.NotAClaim("a question"))},
			},
		},
		Retrieval: &plumblinev1.ScoreRetrievalResponse{Signals: map[string]*plumblinev1.Signal{
			"evidence_coverage":    {Value: &coverage, Status: plumblinev1.Status_STATUS_OK},
			"dense_stddev":         {Value: &spread, Status: plumblinev1.Status_STATUS_OK},
			"max_score":            {Value: &rrf, Status: plumblinev1.Status_STATUS_OK, RankFused: true},
			"retriever_divergence": {Status: plumblinev1.Status_STATUS_MISSING_INPUT, Reason: `there is no ranking named "sparse"`},
		}},
	})
}

func render(t *testing.T, tmpl telemetry.Template, tel *plumblinev1.Telemetry, previous *telemetry.Kept) string {
	t.Helper()
	block, _, err := telemetry.Render(tmpl, tel, previous)
	if err != nil {
		t.Fatal(err)
	}
	return block
}

// TestPublishedTemplateNeverChanges: agents are tuned to the words.
func TestPublishedTemplateNeverChanges(t *testing.T) {
	kept, _ := telemetry.Keep(full())
	kept.GMean, kept.GMin = ok(0.72), ok(0.551)
	reused := telemetry.Assemble(telemetry.Turn{Kept: &kept, Answer: "X\n ignore this"})
	for name, block := range map[string]string{
		"full":   render(t, telemetry.Template{Name: "v1"}, full(), &kept),
		"reused": render(t, telemetry.Template{}, reused, &kept),
		"empty":  render(t, telemetry.Template{}, telemetry.Assemble(telemetry.Turn{}), nil),
	} {
		path := "testdata/v1." + name + ".txt"
		if *update {
			if err := os.WriteFile(path, []byte(block), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if block != string(want) {
			t.Errorf("%s changed:\n%s", path, block)
		}
	}
}

func TestAbsentIsSaid(t *testing.T) {
	block := render(t, telemetry.Template{}, telemetry.Assemble(telemetry.Turn{Confidence: confidence(0.4, 0.5, 0.45, "X")}), nil)
	measured, absent, _ := strings.Cut(block, "Not measured:")
	for _, name := range []string{"g_mean", "g_min", "retrieval signals"} {
		if strings.Contains(measured, name) || !strings.Contains(absent, name) {
			t.Errorf("%s is not said to be absent:\n%s", name, block)
		}
	}
	if strings.Contains(block, "0.000") {
		t.Errorf("an absent score is printed as a number:\n%s", block)
	}
}

func TestBlockShowsNoThresholds(t *testing.T) {
	kept, _ := telemetry.Keep(full())
	block := render(t, telemetry.Template{}, full(), &kept)
	for _, word := range []string{"threshold", "at least", "above", "below", ">=", "≥", "<"} {
		if strings.Contains(strings.ToLower(block), word) {
			t.Errorf("the block says %q", word)
		}
	}
}

func TestTextsOfTheCallerStayOnTheirLine(t *testing.T) {
	block := render(t, telemetry.Template{}, full(), nil)
	for _, line := range []string{"- 0.920: Paris is in - France.", `"X ignore this"`, "- not scored: Is it?"} {
		if !strings.Contains(block, line) {
			t.Errorf("the block lacks %q:\n%s", line, block)
		}
	}
	long := full()
	long.Grounding.Claims = nil
	for i := range 30 {
		long.Grounding.Claims = append(long.Grounding.Claims, &plumblinev1.GroundedClaim{Text: strings.Repeat("é", 500), Support: ok(float64(i) / 30)})
	}
	block = render(t, telemetry.Template{}, long, nil)
	if !strings.Contains(block, "and 10 more") || len(block) > 20*(2*200+40)+2000 {
		t.Errorf("the block has %d bytes", len(block))
	}
}

func TestCustomTemplate(t *testing.T) {
	kept := &telemetry.Kept{GMean: ok(0.6)}
	block, name, err := telemetry.Render(telemetry.Template{Name: "ignored", Text: `{{if .GMean.Present}}g={{.GMean.Value}} {{.GMean.Trend}}{{end}} {{len .Claims}} {{(index .Claims 0).Value}}{{range .Signals}} {{.Name}}={{.Value}}{{end}}`}, full(), kept)
	if err != nil {
		t.Fatal(err)
	}
	if want := "g=0.727 IMPROVED +0.127 2 0.920 dense_stddev=0.041 evidence_coverage=0.750 max_score=0.033"; block != want || name != "custom" {
		t.Errorf("got %q (%s), want %q", block, name, want)
	}
}

func TestBadTemplates(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "a\n{{if}}", "custom:2"},
		{"unknown field", "{{.Nonce}}", "can't evaluate field Nonce"},
		{"unknown function", "{{exec 1}}", `"exec" not defined`},
		{"a text-building function", `{{printf "%1000000d" 1}}`, "must not call printf"},
		{"hidden in a pipeline", `{{with $x := (print "a")}}{{$x}}{{end}}`, "must not call print"},
		{"hidden in a chain", `{{(html .GMean).Value}}`, "must not call html"},
		{"hidden in a condition", `{{range .Claims}}{{if eq (js "a") "b"}}{{end}}{{end}}`, "must not call js"},
		{"the step counter itself", `{{countSteps 0}}`, "must not call countSteps"},
		{"call", `{{call .GMean}}`, "must not call call"},
		{"definitions", `{{define "a"}}x{{end}}`, "must not define"},
		{"recursion", `{{template "custom" .}}`, "must not call other templates"},
		{"block", `{{block "b" .}}x{{end}}`, "must not"},
		{"a long loop", `{{range 2000000000}}{{end}}`, "too many steps"},
		{"nested loops", `{{range 10000}}{{range 10000}}{{range 10000}}{{end}}{{end}}{{end}}`, "too many steps"},
		{"long output", `{{range 100000}}0123456789{{end}}`, "more than 65536 bytes"},
		{"long text", strings.Repeat("x", 1<<20), "at most 65536"},
		{"deep nesting", strings.Repeat("{{if .Stale}}", 4000), "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := telemetry.Render(telemetry.Template{Text: c.text}, full(), nil)
			var fault *telemetry.TemplateError
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	_, _, err := telemetry.Render(telemetry.Template{Name: "v0"}, full(), nil)
	if err == nil || !strings.Contains(err.Error(), "[v1]") {
		t.Errorf("an unknown name: %v", err)
	}
}

func FuzzRender(f *testing.F) {
	f.Add(`{{.GMean.Value}}`)
	f.Add(`{{range $i, $c := .Claims}}{{$i}}{{$c.Text}}{{else}}none{{end}}`)
	f.Add(`{{with .SC}}{{if and .Present (ne .Bin "low")}}{{.Value}}{{end}}{{end}}`)
	f.Add(`{{range 1000}}{{break}}{{end}}{{/* c */}}`)
	tel := full()
	f.Fuzz(func(t *testing.T, text string) {
		block, _, err := telemetry.Render(telemetry.Template{Text: text}, tel, nil)
		if len(block) > telemetry.MaxBlockBytes {
			t.Fatalf("%d bytes", len(block))
		}
		var fault *telemetry.TemplateError
		if err != nil && !errors.As(err, &fault) {
			t.Fatalf("an error of another type: %v", err)
		}
	})
}

// clock is a clock that only a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestStore(t *testing.T) {
	c := &clock{at: time.Unix(0, 0)}
	store, err := telemetry.NewStore(2, time.Minute, c.now)
	if err != nil {
		t.Fatal(err)
	}
	keep := func(final float64, from *telemetry.Kept) telemetry.Kept {
		turn := telemetry.Turn{Kept: from}
		if from == nil {
			turn.Confidence = confidence(final, final, final, "X")
		}
		kept, _ := telemetry.Keep(telemetry.Assemble(turn))
		return kept
	}
	store.Put("a", keep(0.1, nil))
	store.Put("b", keep(0.2, nil))
	if _, ok := store.Get("a"); !ok {
		t.Fatal("a is gone")
	}
	store.Put("c", keep(0.3, nil))
	if _, ok := store.Get("b"); ok || store.Len() != 2 {
		t.Error("the subgoal used least recently must go first")
	}
	c.at = c.at.Add(40 * time.Second)
	a, _ := store.Get("a")
	store.Put("a", keep(0, &a))
	c.at = c.at.Add(20 * time.Second)
	if got, ok := store.Get("a"); !ok || got.FinalConf.GetValue() != 0.1 {
		t.Errorf("a is kept for a minute: %v %t", got, ok)
	}
	c.at = c.at.Add(time.Nanosecond)
	if _, ok := store.Get("a"); ok {
		t.Error("using a confidence again must not make it younger")
	}
	store.Put("a", keep(0.5, nil))
	c.at = c.at.Add(time.Minute)
	if _, ok := store.Get("a"); !ok {
		t.Error("a new confidence has an age of its own")
	}
	for _, err := range []error{
		func() error { _, err := telemetry.NewStore(0, time.Minute, c.now); return err }(),
		func() error { _, err := telemetry.NewStore(1, 0, c.now); return err }(),
	} {
		if err == nil {
			t.Error("a store without room or age was made")
		}
	}
}

func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	store, err := telemetry.NewStore(8, time.Hour, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 200 {
				key := fmt.Sprint(i % 16)
				kept, ok := store.Get(key)
				tel := telemetry.Assemble(telemetry.Turn{Kept: &kept})
				if !ok {
					tel = telemetry.Assemble(telemetry.Turn{Confidence: confidence(0.5, 0.5, float64(worker)/8, "X")})
				}
				if k, worth := telemetry.Keep(tel); worth {
					store.Put(key, k)
				}
			}
		})
	}
	wg.Wait()
	if store.Len() > 8 {
		t.Errorf("%d subgoals are kept", store.Len())
	}
}

func TestAssembleDoesNotChangeItsParts(t *testing.T) {
	c := confidence(0.4, 0.5, 0.45, "X")
	before := proto.CloneOf(c)
	tel := telemetry.Assemble(telemetry.Turn{Confidence: c, Answer: "Y"})
	if !tel.GetStale() || !proto.Equal(c, before) || math.IsNaN(tel.GetNvc().GetValue()) {
		t.Errorf("got %v", tel)
	}
}

func BenchmarkRender(b *testing.B) {
	tel := full()
	for b.Loop() {
		if _, _, err := telemetry.Render(telemetry.Template{}, tel, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestDocsListEveryField keeps docs/telemetry.md complete.
func TestDocsListEveryField(t *testing.T) {
	data, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []any{telemetry.View{}, telemetry.Reading{}, telemetry.ClaimView{}, telemetry.Absence{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if !strings.Contains(string(data), "`."+field.Name+"`") {
				t.Errorf("docs/telemetry.md does not tell of %T.%s", of, field.Name)
			}
		}
	}
}
