package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/server/fault"
)

const (
	// protocolVersion is the version of VerifierService that this is.
	protocolVersion = 1
	// verifySlice is how many pairs are answered together: small enough that
	// results of a large message come as they are known.
	verifySlice = 16
	// verifySlices bounds the slices of one stream that are under way; more
	// messages then wait in the transport, whose flow control slows the sender.
	verifySlices = 64
)

// Describe says what the default verifier is.
func (s *Service) Describe(ctx context.Context, _ *plumblinev1.DescribeRequest) (*plumblinev1.DescribeResponse, error) {
	verifier, err := s.defaultVerifier()
	if err != nil {
		return nil, err
	}
	description, err := verifier.Verifier.Describe(ctx)
	if err != nil {
		return nil, verifierFault(err)
	}
	return describeMessage(description), nil
}

// defaultVerifier is for rpcs that are nothing without one.
func (s *Service) defaultVerifier() (*Verifier, error) {
	if len(s.deps.Verifiers) == 0 {
		return nil, fault.New(fault.VerifierUnavailable, "no verifier is configured")
	}
	return &s.deps.Verifiers[0], nil
}

// verifierFault is the failure of a call that has no value to put a status on.
func verifierFault(err error) error {
	missing := score.Reason(err)
	return fault.From(missing).Because(err)
}

func describeMessage(d entail.Description) *plumblinev1.DescribeResponse {
	classes := []plumblinev1.EntailmentClass{
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_ENTAILMENT,
		plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NOT_SUPPORTED,
	}
	if d.ThreeClass {
		classes = []plumblinev1.EntailmentClass{
			plumblinev1.EntailmentClass_ENTAILMENT_CLASS_ENTAILMENT,
			plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NEUTRAL,
			plumblinev1.EntailmentClass_ENTAILMENT_CLASS_CONTRADICTION,
		}
	}
	return &plumblinev1.DescribeResponse{
		Name:            d.Name,
		Digest:          d.Digest,
		Classes:         classes,
		MaxTokens:       uint32(max(d.MaxTokens, 0)),
		TrainedTokens:   uint32(max(d.TrainedTokens, 0)),
		FineTokens:      uint32(max(d.FineTokens, 0)),
		PairOverhead:    uint32(max(d.PairOverhead, 0)),
		Languages:       d.Languages,
		ScoreKind:       plumblinev1.VerifierScoreKind(d.ScoreKind),
		Deterministic:   d.Deterministic,
		Epsilon:         d.Epsilon,
		ProtocolVersion: protocolVersion,
		QaTemplate:      d.QATemplate,
	}
}

// Verify scores pairs as they arrive and answers them as they are known. One
// model answers the whole stream.
func (s *Service) Verify(ctx context.Context, stream Stream[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse]) error {
	verifier, err := s.defaultVerifier()
	if err != nil {
		return err
	}
	pinned, release := verifier.pin(s.failMode(plumblinev1.FailMode_FAIL_MODE_UNSPECIFIED, verifier))
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(verifySlices)
	v := &verification{verifier: pinned, stream: stream, slices: work, pending: make(map[string]struct{})}
	receiveErr := v.receive(ctx, s.validate)
	if receiveErr != nil {
		cancel()
	}
	if answerErr := v.slices.Wait(); receiveErr == nil {
		receiveErr = answerErr
	}
	if receiveErr != nil {
		return fault.From(receiveErr)
	}
	return nil
}

// verification is one Verify stream.
type verification struct {
	verifier entail.Verifier
	stream   Stream[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse]
	slices   *errgroup.Group

	sending sync.Mutex // held while a response is sent
	mu      sync.Mutex
	pending map[string]struct{} // ids that have no result yet
}

// receive takes messages until the client has no more or ctx ends, and puts
// their pairs to work in slices.
func (v *verification) receive(ctx context.Context, validate func(proto.Message) error) error {
	received := v.messages(ctx)
	for {
		var message message
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case message = <-received:
		}
		if errors.Is(message.err, io.EOF) {
			return nil
		}
		if message.err != nil {
			return message.err
		}
		if err := validate(message.req); err != nil {
			return err
		}
		if err := v.add(message.req.GetPairs()); err != nil {
			return err
		}
		for pairs := range slices.Chunk(message.req.GetPairs(), verifySlice) {
			v.slices.Go(func() error {
				return fault.Guard(func() error { return v.answer(ctx, pairs) })
			})
		}
	}
}

// message is what one Recv gave.
type message struct {
	req *plumblinev1.VerifyRequest
	err error
}

// messages receives until the stream or ctx ends. A Recv ends with the call at
// the latest, and has a goroutine of its own so that a call whose slice fails
// need not wait for a client that keeps its stream open.
func (v *verification) messages(ctx context.Context) <-chan message {
	received := make(chan message)
	go func() {
		for {
			var next message
			next.err = fault.Guard(func() (err error) {
				next.req, err = v.stream.Recv()
				return err
			})
			select {
			case received <- next:
			case <-ctx.Done():
				return
			}
			if next.err != nil {
				return
			}
		}
	}()
	return received
}

// add notes the ids of new pairs, of which none may be pending.
func (v *verification) add(pairs []*plumblinev1.VerifyPair) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, pair := range pairs {
		if _, twice := v.pending[pair.GetId()]; twice {
			return fault.Field(fault.FieldInvalid, fmt.Sprintf("pairs[%d].id", i), "an earlier pair of the stream with this id has no result yet; ids must be unique")
		}
		v.pending[pair.GetId()] = struct{}{}
	}
	return nil
}

// answer scores one slice and sends its results.
func (v *verification) answer(ctx context.Context, pairs []*plumblinev1.VerifyPair) error {
	asked := make([]entail.Pair, len(pairs))
	for i, pair := range pairs {
		asked[i] = entail.Pair{Premise: pair.GetPremise(), Hypothesis: pair.GetHypothesis()}
	}
	scored, err := v.verifier.Verify(ctx, asked)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil && len(scored.Results) != len(pairs) {
		err = score.Unavailable("the verifier gave %d results for %d pairs", len(scored.Results), len(pairs))
	}
	response := &plumblinev1.VerifyResponse{Usage: usageMessage(scored.Usage), Digest: scored.Usage.Digest}
	for i, pair := range pairs {
		result := entail.Result{Err: err}
		if err == nil {
			result = scored.Results[i]
		}
		response.Results = append(response.Results, resultMessage(pair.GetId(), result))
	}
	v.settle(pairs)
	v.sending.Lock()
	defer v.sending.Unlock()
	return v.stream.Send(response)
}

// settle frees the ids of pairs that have their results.
func (v *verification) settle(pairs []*plumblinev1.VerifyPair) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, pair := range pairs {
		delete(v.pending, pair.GetId())
	}
}

func resultMessage(id string, result entail.Result) *plumblinev1.VerifyResult {
	if result.Err != nil {
		missing := score.Reason(result.Err)
		return &plumblinev1.VerifyResult{Id: id, Status: missing.Status, Reason: missing.Reason}
	}
	probabilities := &plumblinev1.ClassProbabilities{Entailment: result.Scores.Entailment}
	if result.Scores.ThreeClass {
		probabilities.Neutral = proto.Float64(result.Scores.Neutral)
		probabilities.Contradiction = proto.Float64(result.Scores.Contradiction)
	}
	return &plumblinev1.VerifyResult{Id: id, Status: plumblinev1.Status_STATUS_OK, Probabilities: probabilities}
}

func usageMessage(u entail.Usage) *plumblinev1.VerifyUsage {
	return &plumblinev1.VerifyUsage{
		Queue:        durationpb.New(u.Queue),
		Tokenization: durationpb.New(u.Tokenization),
		Inference:    durationpb.New(u.Inference),
		Pairs:        uint32(max(u.Pairs, 0)),
		Tokens:       uint64(max(u.Tokens, 0)),
		CacheHits:    uint32(max(u.CacheHits, 0)),
	}
}
