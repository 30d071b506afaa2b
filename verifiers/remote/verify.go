package remote

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers"
	"plumbline/verifiers/internal/deadline"
)

const (
	// messagePairs and messageBytes are when a message is full: small enough
	// that the other side can begin before it has read a large call.
	messagePairs = 64
	messageBytes = 1 << 20
	// pairHeader is what a pair costs in a message beside itself, at most.
	pairHeader = 8
	// sumTolerance is how far probabilities may sum from 1, so that those of
	// half-precision models pass.
	sumTolerance = 1e-2
	// maxReason bounds, in bytes, what is passed on of the other side's reasons.
	maxReason = 300
)

// Verify implements entail.Verifier. Each call is a stream of its own. An
// error is the end of ctx; entail.ErrUnavailable, entail.ErrBusy or
// entail.ErrRejected with what the other side said; or a ProtocolError.
func (v *Verifier) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	description, err := v.Describe(ctx)
	if err != nil {
		return entail.Batch{}, err
	}
	c := newCall(pairs, v.maxBytes, description)
	if c.open == 0 {
		return c.batch, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := v.client.Verify(ctx)
	if err != nil {
		return entail.Batch{}, v.failure(ctx, err)
	}
	// Sending has a goroutine of its own: whichever way the other side orders
	// its reading and writing, its answers are taken.
	sent := make(chan error, 1)
	go func() { sent <- c.send(stream) }()
	err = c.receive(stream, func(digest string) (entail.Description, error) { return v.describes(ctx, digest) })
	if err != nil {
		err = v.failure(ctx, err)
		cancel() // the sender may wait for room
	}
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	if err == nil {
		err = c.outage(ctx)
	}
	if err != nil {
		return entail.Batch{}, err
	}
	return c.batch, nil
}

// state is where a pair is.
type state uint8

const (
	unsent state = iota // refused here
	awaited
	answered
)

// call is one Verify call. Ids are indices of pairs.
type call struct {
	pairs []entail.Pair
	batch entail.Batch
	state []state // of each pair
	sends []int   // indices of the pairs that are sent
	open  int     // how many are awaited
	// digest is that of the model that answers; empty before the first reply.
	digest     string
	threeClass bool
}

func newCall(pairs []entail.Pair, maxBytes int, description entail.Description) *call {
	c := &call{pairs: pairs, state: make([]state, len(pairs)), threeClass: description.ThreeClass}
	c.batch.Results = make([]entail.Result, len(pairs))
	c.batch.Usage = entail.Usage{Verifier: description.Name, Digest: description.Digest}
	for i, pair := range pairs {
		if err := sendable(pair, maxBytes); err != nil {
			c.batch.Results[i].Err = err
			continue
		}
		c.state[i] = awaited
		c.sends = append(c.sends, i)
	}
	c.open = len(c.sends)
	return c
}

// outage is the failure of a call none of whose pairs has a score. What the other
// side calls its deadline may be ours.
func (c *call) outage(ctx context.Context) error {
	err := verifiers.Outage(c.batch)
	if err == nil {
		return nil
	}
	return cmp.Or(deadline.Passing(ctx), err)
}

// sendable says why a pair cannot be put into a message.
func sendable(pair entail.Pair, maxBytes int) error {
	const envelope = 64 // id, tags and lengths
	switch {
	case pair.Hypothesis == "":
		return score.MissingInput("the hypothesis is empty")
	case !utf8.ValidString(pair.Premise) || !utf8.ValidString(pair.Hypothesis):
		return score.InvalidInput("the pair is not valid UTF-8")
	case len(pair.Premise)+len(pair.Hypothesis)+envelope > maxBytes:
		return score.TooLong("the pair has %d bytes and a message to the verifier takes %d; split the premise or the hypothesis",
			len(pair.Premise)+len(pair.Hypothesis), maxBytes)
	default:
		return nil
	}
}

// stream is the client's side of VerifierService.Verify.
type stream = grpc.BidiStreamingClient[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse]

// send sends all pairs.
func (c *call) send(to stream) error {
	for message := range c.messages() {
		if err := to.Send(message); err != nil {
			return ended(err)
		}
	}
	return to.CloseSend()
}

// messages packs the pairs into messages of bounded size.
func (c *call) messages() iter.Seq[*plumblinev1.VerifyRequest] {
	return func(yield func(*plumblinev1.VerifyRequest) bool) {
		message, size := &plumblinev1.VerifyRequest{}, 0
		for _, i := range c.sends {
			pair := &plumblinev1.VerifyPair{Id: strconv.Itoa(i), Premise: c.pairs[i].Premise, Hypothesis: c.pairs[i].Hypothesis}
			bytes := pairHeader + proto.Size(pair)
			if n := len(message.GetPairs()); n == messagePairs || n > 0 && size+bytes > messageBytes {
				if !yield(message) {
					return
				}
				message, size = &plumblinev1.VerifyRequest{}, 0
			}
			message.Pairs = append(message.Pairs, pair)
			size += bytes
		}
		yield(message)
	}
}

// ended drops the error of a stream that the other side has ended: receiving
// tells why.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// receive takes results until the other side has no more. describe finds the
// description of a digest.
func (c *call) receive(from stream, describe func(digest string) (entail.Description, error)) error {
	for {
		reply, err := from.Recv()
		switch {
		case errors.Is(err, io.EOF) && c.open > 0:
			return violation(MissingID, "the stream ended and %d of %d pairs have no result", c.open, len(c.sends))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := c.identify(reply, describe); err != nil {
			return err
		}
		for _, result := range reply.GetResults() {
			if err := c.take(result); err != nil {
				return err
			}
		}
		c.batch.Usage.Add(usage(reply.GetUsage()))
	}
}

// identify makes sure that one model answers the whole call. A reply whose
// results all failed may come from no model.
func (c *call) identify(reply *plumblinev1.VerifyResponse, describe func(string) (entail.Description, error)) error {
	digest := reply.GetDigest()
	switch {
	case digest == c.digest && digest != "":
		return nil
	case digest == "":
		for _, result := range reply.GetResults() {
			if result.GetStatus() == plumblinev1.Status_STATUS_OK {
				return violation(DigestMissing, "a reply with scores has no digest")
			}
		}
		return nil
	case c.digest != "":
		return violation(DigestChanged, "the digest changed from %.80q to %.80q within one call", c.digest, digest)
	}
	c.digest = digest
	if digest == c.batch.Usage.Digest {
		return nil
	}
	description, err := describe(digest)
	if err != nil {
		return err
	}
	c.threeClass = description.ThreeClass
	c.batch.Usage.Verifier, c.batch.Usage.Digest = description.Name, digest
	return nil
}

// take puts a result in its place.
func (c *call) take(result *plumblinev1.VerifyResult) error {
	i, err := strconv.Atoi(result.GetId())
	switch {
	case err != nil || i < 0 || i >= len(c.pairs) || strconv.Itoa(i) != result.GetId() || c.state[i] == unsent:
		return violation(UnknownID, "there is a result with the id %.80q, and no such pair was sent", result.GetId())
	case c.state[i] == answered:
		return violation(DuplicateID, "the pair with the id %q has two results", result.GetId())
	}
	c.state[i] = answered
	c.open--
	c.batch.Results[i], err = c.read(result)
	return err
}

// read checks what a result says. The error is a broken contract.
func (c *call) read(result *plumblinev1.VerifyResult) (entail.Result, error) {
	status, p := result.GetStatus(), result.GetProbabilities()
	_, known := plumblinev1.Status_name[int32(status)]
	switch {
	case !known || status == plumblinev1.Status_STATUS_UNSPECIFIED:
		return entail.Result{}, violation(BadStatus, "the result of pair %q has the status %d", result.GetId(), status)
	case (status == plumblinev1.Status_STATUS_OK) != (p != nil):
		return entail.Result{}, violation(BadStatus,
			"the result of pair %q has the status %v and probabilities: %t", result.GetId(), status, p != nil)
	case p == nil:
		return entail.Result{Err: &score.Missing{Status: status, Reason: brief(result.GetReason())}}, nil
	}
	return c.scores(result.GetId(), p)
}

func (c *call) scores(id string, p *plumblinev1.ClassProbabilities) (entail.Result, error) {
	if three := p.Neutral != nil && p.Contradiction != nil; three != c.threeClass || !three && (p.Neutral != nil || p.Contradiction != nil) {
		return entail.Result{}, violation(WrongClasses,
			"the result of pair %q has neutral: %t, contradiction: %t, and three classes are described: %t",
			id, p.Neutral != nil, p.Contradiction != nil, c.threeClass)
	}
	for _, value := range []float64{p.GetEntailment(), p.GetNeutral(), p.GetContradiction()} {
		if !(value >= 0 && value <= 1) {
			return entail.Result{}, violation(BadProbability, "the result of pair %q has the probability %v", id, value)
		}
	}
	if sum := p.GetEntailment() + p.GetNeutral() + p.GetContradiction(); c.threeClass && math.Abs(sum-1) > sumTolerance {
		return entail.Result{}, violation(BadSum, "the probabilities of pair %q sum to %v", id, sum)
	}
	return entail.Result{Scores: entail.Scores{
		Entailment:    p.GetEntailment(),
		Neutral:       p.GetNeutral(),
		Contradiction: p.GetContradiction(),
		ThreeClass:    c.threeClass,
	}}, nil
}

// brief is a reason of bounded length.
func brief(reason string) string {
	switch {
	case reason == "":
		return "the verifier gives no reason"
	case len(reason) <= maxReason:
		return reason
	}
	end := maxReason
	for !utf8.RuneStart(reason[end]) {
		end--
	}
	return reason[:end] + "…"
}

// usage reads the cost. Counters of metrics grow by it, so that nothing in it
// may be negative, whatever the other side says.
func usage(m *plumblinev1.VerifyUsage) entail.Usage {
	return entail.Usage{
		Queue:        max(m.GetQueue().AsDuration(), 0),
		Tokenization: max(m.GetTokenization().AsDuration(), 0),
		Inference:    max(m.GetInference().AsDuration(), 0),
		Pairs:        int(m.GetPairs()),
		Tokens:       int(min(m.GetTokens(), math.MaxInt32)),
		CacheHits:    int(m.GetCacheHits()),
	}
}
