package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"plumbline/internal/orttest"
	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/server"
)

// TestTheEmbeddedModelServes starts a server as the program does and lets it
// score with the bundled model.
func TestTheEmbeddedModelServes(t *testing.T) {
	cfg := settings()
	cfg.ONNXRuntime.Lib = orttest.Library(t)
	r := run(t, cfg, server.Options{})
	r.awaitReady()
	req := groundingRequest("A man is playing a guitar on a stage.")
	req.Claims = []*plumblinev1.Claim{{Id: "true", Text: "A man is making music."}, {Id: "false", Text: "Nobody is playing a guitar."}}
	var first *plumblinev1.ScoreGroundingResponse
	for i, c := range everywhere[plumblinev1.ScoreGroundingRequest, plumblinev1.ScoreGroundingResponse](r, scoreGrounding) {
		res, err := c.call(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if i == 0 {
			first = res
			if res.GetClaims()[0].GetVerdict() != plumblinev1.Verdict_VERDICT_SUPPORTED || res.GetClaims()[1].GetVerdict() != plumblinev1.Verdict_VERDICT_CONTRADICTED {
				t.Errorf("verdicts: %v", res.GetClaims())
			}
			continue
		}
		if hits := res.GetCoverage().GetCacheHits(); hits != 2 {
			t.Errorf("%s: %d cache hits", c.name, hits)
		}
		for k, claim := range res.GetClaims() {
			if claim.GetSupport().GetValue() != first.GetClaims()[k].GetSupport().GetValue() {
				t.Errorf("%s: claim %d has another support", c.name, k)
			}
		}
	}
}

func TestOpenEngineKeepsTheOrderOfPairs(t *testing.T) {
	cfg := settings()
	cfg.ONNXRuntime.Lib = orttest.Library(t)
	open, err := server.OpenEngine(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := open.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := open.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	same := entail.Pair{Premise: "It rains.", Hypothesis: "It rains."}
	other := entail.Pair{Premise: "It rains.", Hypothesis: "The sun shines."}
	batch, err := open.Verify(t.Context(), []entail.Pair{same, other, same})
	if err != nil {
		t.Fatal(err)
	}
	if got := batch.Results; got[0] != got[2] || got[0].Scores.Entailment < got[1].Scores.Entailment {
		t.Errorf("results %+v", got)
	}
	if u := batch.Usage; u.Pairs != 2 || u.Pairs+u.Shared+u.CacheHits != 3 {
		t.Errorf("usage %+v", u)
	}
}

// TestInteractiveCallsOvertakeALargeOne sends small calls, one after the other,
// while a large one is being scored: the whole stack lets them in between its
// pairs, and the large one is still at work when the last has its answer. The
// order among many large calls is tested in models/engine.
func TestInteractiveCallsOvertakeALargeOne(t *testing.T) {
	cfg := settings()
	cfg.ONNXRuntime.Lib = orttest.Library(t)
	r := run(t, cfg, server.Options{})
	r.awaitReady()
	client := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr()))
	// A call without a deadline gets one that a loaded machine may miss.
	patient, release := context.WithTimeout(t.Context(), 10*time.Minute)
	defer release()
	ctx, cancel := context.WithCancel(patient)
	defer cancel()
	large := groundingRequest(ledger(500))
	large.Claims = []*plumblinev1.Claim{{Text: "The owner of the last mill died."}}
	finished := make(chan error, 1)
	go func() {
		_, err := client.ScoreGrounding(ctx, large)
		finished <- err
	}()
	testwait.For(t, "the large call is in the verifier", func() bool {
		_, metrics := r.get("/metrics")
		return strings.Contains(metrics, `plumbline_verifier_in_flight{verifier="embedded"} 1`)
	})
	for i := range 10 {
		res, err := client.ScoreGrounding(patient, groundingRequest(fmt.Sprintf("Otter %d sleeps in its den.", i)))
		if err != nil || res.GetStatus() != plumblinev1.Status_STATUS_OK {
			t.Fatalf("small call %d: %s %v", i, res.GetStatus(), err)
		}
	}
	select {
	case err := <-finished:
		t.Errorf("the large call ended (%v) before ten small ones had their answers", err)
	default:
		cancel()
		if err := <-finished; err == nil {
			t.Error("the large call that was cancelled ended well")
		}
	}
}

// ledger is a text of so many sentences, no two of them alike.
func ledger(sentences int) string {
	var b strings.Builder
	for i := range sentences {
		fmt.Fprintf(&b, "Mill %d was sold for %d crowns in %d. ", i, 100+7*i, 1500+i)
	}
	return b.String()
}
