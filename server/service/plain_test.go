package service

import (
	"math"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"pgregory.net/rapid"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// TestPlainlyValidRequestsAreValid draws requests about the limits of every
// rule: what the short way lets pass, the validator must too. The reverse is not
// asked, but the usual request must go the short way.
func TestPlainlyValidRequestsAreValid(t *testing.T) {
	validator, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	rapid.Check(t, func(t *rapid.T) {
		req := aboutTheLimits(t)
		if !plainlyValid(req) {
			return
		}
		passed++
		if err := validator.Validate(req); err != nil {
			t.Fatalf("plainly valid, but: %v", err)
		}
	})
	if passed == 0 {
		t.Error("no request was plainly valid")
	}
	usual := &plumblinev1.ScoreRetrievalRequest{Question: "who?", Rankings: []*plumblinev1.Ranking{{
		Name: "dense", Items: []*plumblinev1.RankedItem{{Id: "a", Score: 1, Text: strings.Repeat("long ", 100_000)}},
	}}}
	if !plainlyValid(usual) {
		t.Error("a usual request is not plainly valid")
	}
	if plainlyValid(nil) {
		t.Error("no request is plainly valid")
	}
}

// aboutTheLimits draws a request of which each field is usual most of the time
// and else at or beyond its limit.
func aboutTheLimits(t *rapid.T) *plumblinev1.ScoreRetrievalRequest {
	odd := func(name string) bool { return rapid.IntRange(0, 19).Draw(t, name) == 0 }
	number := func(name string, limit uint32) uint32 {
		if odd(name) {
			return limit + rapid.Uint32Range(0, 1).Draw(t, name+" beyond")
		}
		return rapid.Uint32Range(0, 20).Draw(t, name+" usual")
	}
	text := func(name string, limit int) string {
		if odd(name) {
			return strings.Repeat(rapid.SampledFrom([]string{"a", "é"}).Draw(t, name+" letter"), rapid.SampledFrom([]int{0, limit, limit + 1}).Draw(t, name+" length"))
		}
		return rapid.StringN(1, 8, -1).Draw(t, name+" usual")
	}
	count := func(name string, limit int) int {
		if odd(name) {
			return rapid.SampledFrom([]int{0, limit, limit + 1}).Draw(t, name+" count")
		}
		return rapid.IntRange(1, 3).Draw(t, name+" usual")
	}
	req := &plumblinev1.ScoreRetrievalRequest{
		Id: text("id", 1024), Question: text("question", 65_536), Window: number("window", 10_000), K: number("k", 10_000),
		RrfK: number("rrf_k", 100_000), QueryEmbedding: make([]float32, count("query_embedding", 65_536)),
		Compat:             plumblinev1.Compat(number("compat", 1) % 3),
		SoftmaxTemperature: rapid.SampledFrom([]float64{0, 0.05, 1, math.MaxFloat64, -0.1, math.Inf(1), math.NaN()}).Draw(t, "temperature"),
	}
	for range count("rankings", 16) {
		ranking := &plumblinev1.Ranking{Name: text("name", 128), ScoreKind: plumblinev1.ScoreKind(number("kind", 9) % 11)}
		for range count("items", 3) {
			ranking.Items = append(ranking.Items, &plumblinev1.RankedItem{Id: text("item id", 1024), Score: math.NaN()})
		}
		if odd("many items") {
			for len(ranking.Items) <= 10_000 {
				ranking.Items = append(ranking.Items, &plumblinev1.RankedItem{Id: "a"})
			}
		}
		if odd("embedding") {
			ranking.Items = append(ranking.Items, &plumblinev1.RankedItem{Id: "b", Embedding: make([]float32, count("embedding length", 65_536))})
		}
		req.Rankings = append(req.Rankings, ranking)
	}
	for range count("signals", 256) {
		req.Signals = append(req.Signals, text("signal", 128))
	}
	if odd("idf") {
		req.Idf = make(map[string]float64)
		for i := range 65_536 + rapid.IntRange(0, 1).Draw(t, "idf beyond") {
			req.Idf[string(rune(0x10000+i))] = 1
		}
	}
	return req
}
