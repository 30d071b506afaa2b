package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// How claims are given to the service.
const (
	// Whole gives each claim as a ready claim, which the service takes as it is.
	Whole = "whole"
	// Split gives each claim as an answer, which the service splits: the
	// support is the least of its sentences' (g_min).
	Split = "split"
)

// Scorer answers grounding requests.
type Scorer interface {
	ScoreGrounding(context.Context, *plumblinev1.ScoreGroundingRequest) (*plumblinev1.ScoreGroundingResponse, error)
}

// Job is pairs to score into a log.
type Job struct {
	Scorer Scorer
	Log    *Log
	// Mode and Claims are the choices of the requests; Verifier is the name of
	// a configured verifier, empty for the default.
	Mode     plumblinev1.ScoreGroundingRequest_Mode
	Claims   string
	Verifier string
	// Parallel is how many pairs are scored at once.
	Parallel int
	// Done, if set, is told of each row that was scored, from several
	// goroutines.
	Done func()
}

// Pending returns the pairs that the log has no score of yet.
func Pending(log *Log, pairs []Pair) ([]Pair, error) {
	var pending []Pair
	for _, p := range pairs {
		known, err := log.has(p)
		if err != nil {
			return nil, err
		}
		if !known {
			pending = append(pending, p)
		}
	}
	return pending, nil
}

// Run scores pairs. It ends at the first pair that the verifier fails on, and
// when ctx ends; what was scored until then is in the log. A pair that cannot
// be scored for reasons of its own, such as its language, is a row without a
// score.
func (j Job) Run(ctx context.Context, pairs []Pair) (err error) {
	started, processor := time.Now(), processorSeconds()
	var mu sync.Mutex
	var session Session
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(j.Parallel)
	for _, p := range order(pairs) {
		if working.Err() != nil {
			break
		}
		group.Go(func() error {
			asked, err := j.score(working, p)
			if err != nil {
				return err
			}
			mu.Lock()
			session.Rows++
			session.Pairs += asked
			mu.Unlock()
			if j.Done != nil {
				j.Done()
			}
			return nil
		})
	}
	err = group.Wait()
	session.Seconds = time.Since(started).Seconds()
	session.ProcessorSeconds = processorSeconds() - processor
	if session.Rows > 0 {
		if kept := j.Log.end(session); err == nil {
			err = kept
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// score scores one pair and returns how many pairs the verifier was asked.
func (j Job) score(ctx context.Context, p Pair) (asked int, err error) {
	response, err := j.Scorer.ScoreGrounding(ctx, j.request(p))
	if err != nil {
		return 0, fmt.Errorf("set %s, id %q: %w", p.Row.Set, p.Row.ID, err)
	}
	support := response.GetGMin()
	if j.Claims == Whole && len(response.GetClaims()) > 0 {
		support = response.GetClaims()[0].GetSupport()
	}
	row := p.Row
	switch support.GetStatus() {
	case plumblinev1.Status_STATUS_OK:
		row.Support = support.Value
	case plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE, plumblinev1.Status_STATUS_DEADLINE, plumblinev1.Status_STATUS_NOT_CHECKED:
		return 0, fmt.Errorf("set %s, id %q: %s", p.Row.Set, p.Row.ID, support.GetReason())
	default:
		row.Reason = support.GetReason()
	}
	if err := j.Log.begin(j.run(response)); err != nil {
		return 0, err
	}
	coverage := response.GetCoverage()
	return int(coverage.GetPairs()) - int(coverage.GetCacheHits()), j.Log.add(row, p.Digest())
}

// run is what the response was made by.
func (j Job) run(response *plumblinev1.ScoreGroundingResponse) Run {
	model := response.GetModel()
	return Run{Verifier: model.GetName(), Digest: model.GetDigest(), Claims: j.Claims, Mode: modeName(j.Mode)}
}

// Agree asks for the shortest of pairs that the log has all scores of, and fails if
// those were made by something else.
func (j Job) Agree(ctx context.Context, pairs []Pair) error {
	shortest := slices.MinFunc(pairs, func(a, b Pair) int { return cmp.Compare(len(a.Document), len(b.Document)) })
	response, err := j.Scorer.ScoreGrounding(ctx, j.request(shortest))
	if err != nil {
		return err
	}
	if response.GetModel().GetName() == "" {
		return fmt.Errorf("--scores cannot be compared with the verifier: %s", response.GetGMin().GetReason())
	}
	return j.Log.begin(j.run(response))
}

// request asks for one pair. A labelled claim that is taken whole is a claim
// whatever it looks like, so that a question or a heading is scored too.
func (j Job) request(p Pair) *plumblinev1.ScoreGroundingRequest {
	request := &plumblinev1.ScoreGroundingRequest{
		Evidence: []*plumblinev1.Evidence{{Text: p.Document}},
		Question: p.Question, Mode: j.Mode, Verifier: j.Verifier,
	}
	if j.Claims == Split {
		request.Answer = p.Claim
	} else {
		request.Claims, request.ScoreAllKinds = []*plumblinev1.Claim{{Text: p.Claim}}, true
	}
	return request
}

// modeName names the rules of a mode for people.
func modeName(mode plumblinev1.ScoreGroundingRequest_Mode) string {
	if mode == plumblinev1.ScoreGroundingRequest_MODE_UNSPECIFIED {
		return "plumbline"
	}
	return strings.ToLower(strings.TrimPrefix(mode.String(), "MODE_"))
}
