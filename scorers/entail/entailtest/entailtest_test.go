package entailtest_test

import (
	"context"
	"errors"
	"testing"

	"plumbline/scorers/entail"
	"plumbline/scorers/entail/entailtest"
)

func TestTableAnswersItsPairsOnly(t *testing.T) {
	known := entail.Pair{Premise: "p", Hypothesis: "h"}
	v := entailtest.Table(map[entail.Pair]entail.Scores{known: entailtest.Support(0.75)})
	batch, err := v.Verify(t.Context(), []entail.Pair{{Premise: "x", Hypothesis: "h"}, known})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(batch.Results[0].Err, entailtest.ErrUnknownPair) {
		t.Errorf("unknown pair: error = %v, want ErrUnknownPair", batch.Results[0].Err)
	}
	want := entail.Scores{Entailment: 0.75, Neutral: 0.125, Contradiction: 0.125, ThreeClass: true}
	if got := batch.Results[1]; got.Err != nil || got.Scores != want {
		t.Errorf("known pair: %+v, want %+v", got, want)
	}
}

func TestOverlapIsTheShareOfTheHypothesis(t *testing.T) {
	for _, c := range []struct {
		premise, hypothesis string
		want                float64
	}{
		{"The cat sat on the mat.", "the cat sat", 1},
		{"The cat sat on the mat.", "The dog sat", 2.0 / 3},
		{"The cat", "a dog", 0},
		{"The cat", "", 0},
	} {
		batch, err := entailtest.Overlap().Verify(t.Context(), []entail.Pair{{Premise: c.premise, Hypothesis: c.hypothesis}})
		if err != nil {
			t.Fatal(err)
		}
		if got := batch.Results[0].Scores.Entailment; got != c.want {
			t.Errorf("(%q, %q): %v, want %v", c.premise, c.hypothesis, got, c.want)
		}
	}
}

func TestBlockingHonoursReleaseAndContext(t *testing.T) {
	b := entailtest.NewBlocking(entailtest.Overlap())
	ctx, cancel := context.WithCancel(t.Context())
	failed, passed := make(chan error, 1), make(chan error, 1)
	go func() { _, err := b.Verify(ctx, nil); failed <- err }()
	<-b.Entered()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call: %v", err)
	}
	go func() { _, err := b.Verify(t.Context(), nil); passed <- err }()
	<-b.Entered()
	b.Release()
	if err := <-passed; err != nil {
		t.Errorf("released call: %v", err)
	}
}

func TestRecorderCountsPairs(t *testing.T) {
	r := entailtest.NewRecorder(entailtest.Overlap())
	a, b := entail.Pair{Premise: "a"}, entail.Pair{Premise: "b"}
	for _, pairs := range [][]entail.Pair{{a, b}, {a}} {
		if _, err := r.Verify(t.Context(), pairs); err != nil {
			t.Fatal(err)
		}
	}
	if got := [3]int{r.Count(a), r.Count(b), r.Count(entail.Pair{})}; got != [3]int{2, 1, 0} {
		t.Errorf("counts = %v", got)
	}
}

func TestWordsSpansCoverTheVisibleText(t *testing.T) {
	text := "Über 3 €!"
	var got []string
	for _, s := range (entailtest.Words{}).Spans(text) {
		got = append(got, text[s.Start:s.End])
	}
	want := []string{"Über", "3", "€", "!"}
	if len(got) != len(want) {
		t.Fatalf("spans = %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("span %d = %q, want %q", i, got[i], want[i])
		}
	}
}
