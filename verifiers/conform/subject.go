package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers"
)

// subject is the verifier that is checked.
type subject struct {
	backend verifiers.Backend

	prepared    bool
	conn        grpc.ClientConnInterface // nil if it does not speak VerifierService
	description *plumblinev1.DescribeResponse
	// serial makes texts that were not sent before.
	serial int
}

// prepare connects to the subject and has it describe itself.
func (s *subject) prepare(ctx context.Context) error {
	s.prepared = true
	if w, ok := s.backend.(wired); ok {
		conn, err := w.Conn()
		if err != nil {
			return err
		}
		s.conn = conn
		description, err := s.client().Describe(ctx, &plumblinev1.DescribeRequest{})
		if err != nil {
			return fmt.Errorf("describing itself: %w", err)
		}
		s.description = description
		return nil
	}
	description, err := s.backend.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describing itself: %w", err)
	}
	s.description = message(description)
	return nil
}

// message is a description with what checks look at.
func message(d entail.Description) *plumblinev1.DescribeResponse {
	classes := twoClasses()
	if d.ThreeClass {
		classes = threeClasses()
	}
	return &plumblinev1.DescribeResponse{
		Name: d.Name, Digest: d.Digest, Classes: classes, Deterministic: d.Deterministic, Epsilon: d.Epsilon,
		MaxTokens: uint32(max(d.MaxTokens, 0)), PairOverhead: uint32(max(d.PairOverhead, 0)), TrainedTokens: uint32(max(d.TrainedTokens, 0)),
	}
}

func twoClasses() []plumblinev1.EntailmentClass {
	return []plumblinev1.EntailmentClass{
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_ENTAILMENT,
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NOT_SUPPORTED,
	}
}

func threeClasses() []plumblinev1.EntailmentClass {
	return []plumblinev1.EntailmentClass{
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_ENTAILMENT,
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NEUTRAL,
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_CONTRADICTION,
	}
}

// isThreeClass says whether the description has three classes.
func (s *subject) isThreeClass() bool {
	return slices.Contains(s.description.GetClasses(), plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NEUTRAL)
}

func (s *subject) client() plumblinev1.VerifierServiceClient {
	return plumblinev1.NewVerifierServiceClient(s.conn)
}

// answer is what came for one pair.
type answer struct {
	entail.Scores
	// refusal is a typed status in place of scores; empty if there are scores.
	refusal string
}

// ask scores pairs in one call. Over the wire it takes what comes: no result is
// a failure here only if there is none for a pair.
func (s *subject) ask(ctx context.Context, pairs []entail.Pair) ([]answer, error) {
	if s.conn == nil {
		return s.askBackend(ctx, pairs)
	}
	request := &plumblinev1.VerifyRequest{}
	for i, pair := range pairs {
		request.Pairs = append(request.Pairs, &plumblinev1.VerifyPair{Id: strconv.Itoa(i), Premise: pair.Premise, Hypothesis: pair.Hypothesis})
	}
	responses, err := s.exchange(ctx, request)
	if err != nil {
		return nil, err
	}
	answers, found := make([]answer, len(pairs)), make([]bool, len(pairs))
	for result := range results(responses) {
		if i, err := strconv.Atoi(result.GetId()); err == nil && i >= 0 && i < len(pairs) {
			answers[i], found[i] = answerOf(result), true
		}
	}
	if i := slices.Index(found, false); i >= 0 {
		return nil, fmt.Errorf("%d pairs were sent and the one with the id \"%d\" %w", len(pairs), i, errNoResult)
	}
	return answers, nil
}

var errNoResult = errors.New("has no result")

func answerOf(result *plumblinev1.VerifyResult) answer {
	if result.GetStatus() != plumblinev1.Status_STATUS_OK {
		return answer{refusal: result.GetStatus().String()}
	}
	p := result.GetProbabilities()
	return answer{Scores: entail.Scores{
		Entailment: p.GetEntailment(), Neutral: p.GetNeutral(), Contradiction: p.GetContradiction(),
	}}
}

// askBackend asks a verifier that does not speak VerifierService.
func (s *subject) askBackend(ctx context.Context, pairs []entail.Pair) ([]answer, error) {
	batch, err := s.backend.Verify(ctx, pairs)
	if err != nil {
		return nil, err
	}
	if len(batch.Results) != len(pairs) {
		return nil, fmt.Errorf("%d results for %d pairs", len(batch.Results), len(pairs))
	}
	answers := make([]answer, len(pairs))
	for i, result := range batch.Results {
		var missing *score.Missing
		switch {
		case result.Err == nil:
			answers[i].Scores = result.Scores
		case errors.As(result.Err, &missing):
			answers[i].refusal = missing.Status.String()
		default:
			return nil, fmt.Errorf("pair %d failed without a typed reason: %w", i, result.Err)
		}
	}
	return answers, nil
}

// exchange sends messages in a Verify call of their own and returns all that
// came back.
func (s *subject) exchange(ctx context.Context, requests ...*plumblinev1.VerifyRequest) ([]*plumblinev1.VerifyResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.client().Verify(ctx)
	if err != nil {
		return nil, err
	}
	var sending errgroup.Group
	sending.Go(func() error {
		for _, request := range requests {
			if err := stream.Send(request); errors.Is(err, io.EOF) {
				return nil // Recv says why the stream has ended
			} else if err != nil {
				return err
			}
		}
		return stream.CloseSend()
	})
	var responses []*plumblinev1.VerifyResponse
	for {
		response, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			cancel() // a sender that still waits for room waits in vain
			return responses, ignoreCancelled(sending.Wait())
		case err != nil:
			cancel()
			if sendErr := sending.Wait(); status.Code(err) == codes.Canceled {
				err = errors.Join(ignoreCancelled(sendErr), err)
			}
			return responses, err
		}
		responses = append(responses, response)
	}
}

func ignoreCancelled(err error) error {
	if status.Code(err) == codes.Canceled {
		return nil
	}
	return err
}

// results are all results of responses.
func results(responses []*plumblinev1.VerifyResponse) iter.Seq[*plumblinev1.VerifyResult] {
	return func(yield func(*plumblinev1.VerifyResult) bool) {
		for _, response := range responses {
			for _, result := range response.GetResults() {
				if !yield(result) {
					return
				}
			}
		}
	}
}

// tolerance is how far two scores of one pair may differ: what the verifier
// declares, and the rounding of float64.
func (s *subject) tolerance() float64 { return s.description.GetEpsilon() + 1e-12 }

// same says why two answers to the same pairs differ by more than they may.
func (s *subject) same(first, second []answer) error {
	for i := range first {
		a, b := first[i], second[i]
		if a.refusal != b.refusal {
			return fmt.Errorf("pair %d: %s once and %s once", i, a.outcome(), b.outcome())
		}
		distance := max(math.Abs(a.Entailment-b.Entailment), math.Abs(a.Neutral-b.Neutral), math.Abs(a.Contradiction-b.Contradiction))
		if !(distance <= s.tolerance()) {
			return fmt.Errorf("pair %d: probabilities differ by %.3g and the declared epsilon is %g", i, distance, s.description.GetEpsilon())
		}
	}
	return nil
}

func (a answer) outcome() string {
	if a.refusal == "" {
		return "scores"
	}
	return a.refusal
}

// works says why an easy pair cannot be scored: it is asked after what a
// verifier may not survive.
func (s *subject) works(ctx context.Context) error {
	answers, err := s.ask(ctx, pairs()[:1])
	if err != nil {
		return fmt.Errorf("afterwards an easy pair fails: %w", err)
	}
	if answers[0].refusal != "" {
		return fmt.Errorf("afterwards an easy pair has %s", answers[0].refusal)
	}
	return nil
}

// timed says how long a call of n pairs takes that were not sent before, with
// the time during which it is refused for load.
func (s *subject) timed(ctx context.Context, n int) (time.Duration, error) {
	begin := time.Now()
	for {
		_, err := s.ask(ctx, s.fresh(n))
		if !isBusy(err) || ctx.Err() != nil {
			return time.Since(begin), err
		}
		time.Sleep(busyPause)
	}
}

// fastest is the shortest time that a call of n pairs takes: the others waited for
// the machine.
func (s *subject) fastest(ctx context.Context, n int) (time.Duration, error) {
	const tries = 3
	shortest := time.Duration(math.MaxInt64)
	for range tries {
		took, err := s.timed(ctx, n)
		if err != nil {
			return 0, err
		}
		shortest = min(shortest, took)
	}
	return shortest, nil
}

// busyPause is the time between two attempts of a call that is refused for load.
const busyPause = 10 * time.Millisecond
