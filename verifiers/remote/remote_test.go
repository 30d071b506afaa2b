package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"plumbline/internal/testport"
	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers/remote"
)

// sidecar is a verifier of which a test replaces what it wants to go wrong.
type sidecar struct {
	plumblinev1.UnimplementedVerifierServiceServer
	description func() *plumblinev1.DescribeResponse
	verify      func(verifyStream) error
	described   atomic.Int32
}

type verifyStream = grpc.BidiStreamingServer[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse]

func (s *sidecar) Describe(context.Context, *plumblinev1.DescribeRequest) (*plumblinev1.DescribeResponse, error) {
	s.described.Add(1)
	return s.description(), nil
}

func (s *sidecar) Verify(stream verifyStream) error { return s.verify(stream) }

const digest = "sha256:one"

func threeClass() *plumblinev1.DescribeResponse {
	return &plumblinev1.DescribeResponse{
		Name:   "sidecar",
		Digest: digest,
		// Not in the usual order, which must not matter.
		Classes: []plumblinev1.EntailmentClass{
			plumblinev1.EntailmentClass_ENTAILMENT_CLASS_CONTRADICTION,
			plumblinev1.EntailmentClass_ENTAILMENT_CLASS_ENTAILMENT,
			plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NEUTRAL,
		},
		MaxTokens:       512,
		TrainedTokens:   256,
		PairOverhead:    3,
		Languages:       []string{"en", "de"},
		ScoreKind:       plumblinev1.VerifierScoreKind_VERIFIER_SCORE_KIND_TOKEN_PROBABILITY,
		Deterministic:   true,
		Epsilon:         1e-4,
		ProtocolVersion: 1,
		QaTemplate:      "{question} {answer}",
	}
}

// supportOf makes each pair's scores tell which pair it is.
func supportOf(hypothesis string) float64 { return float64(len(hypothesis)%100) / 100 }

func result(pair *plumblinev1.VerifyPair) *plumblinev1.VerifyResult {
	p := supportOf(pair.GetHypothesis())
	return &plumblinev1.VerifyResult{
		Id: pair.GetId(), Status: plumblinev1.Status_STATUS_OK,
		Probabilities: &plumblinev1.ClassProbabilities{Entailment: p, Neutral: new((1 - p) / 4), Contradiction: new((1 - p) * 3 / 4)},
	}
}

// readAll takes the pairs of a stream to its end.
func readAll(stream verifyStream) ([]*plumblinev1.VerifyPair, error) {
	var pairs []*plumblinev1.VerifyPair
	for {
		request, err := stream.Recv()
		if err != nil {
			return pairs, ignoreEOF(err)
		}
		pairs = append(pairs, request.GetPairs()...)
	}
}

func ignoreEOF(err error) error {
	if status.Code(err) == codes.Unknown {
		return nil
	}
	return err
}

// replying reads all pairs and sends what reply makes of them.
func replying(reply func([]*plumblinev1.VerifyPair) []*plumblinev1.VerifyResponse) func(verifyStream) error {
	return func(stream verifyStream) error {
		pairs, err := readAll(stream)
		if err != nil {
			return err
		}
		for _, response := range reply(pairs) {
			if err := stream.Send(response); err != nil {
				return err
			}
		}
		return nil
	}
}

// good answers in one message.
func good(pairs []*plumblinev1.VerifyPair) []*plumblinev1.VerifyResponse {
	response := &plumblinev1.VerifyResponse{Digest: digest, Usage: &plumblinev1.VerifyUsage{
		Pairs: uint32(len(pairs)), Tokens: 7, Inference: durationpb.New(time.Second),
	}}
	for _, pair := range pairs {
		response.Results = append(response.Results, result(pair))
	}
	return []*plumblinev1.VerifyResponse{response}
}

func newSidecar() *sidecar {
	return &sidecar{description: threeClass, verify: replying(good)}
}

// serve runs a sidecar and returns its address.
func serve(t testing.TB, s plumblinev1.VerifierServiceServer, more ...func(*grpc.Server)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, listener, s, more...)
	return listener.Addr().String()
}

func serveOn(t testing.TB, listener net.Listener, s plumblinev1.VerifierServiceServer, more ...func(*grpc.Server)) *grpc.Server {
	server := grpc.NewServer()
	plumblinev1.RegisterVerifierServiceServer(server, s)
	if more == nil {
		healthpb.RegisterHealthServer(server, health.NewServer())
	}
	for _, register := range more {
		register(server)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return server
}

func open(t testing.TB, config remote.Config) *remote.Verifier {
	t.Helper()
	v, err := remote.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return v
}

func client(t testing.TB, s *sidecar) *remote.Verifier {
	return open(t, remote.Config{Address: "grpc://" + serve(t, s)})
}

// questions are pairs of which each has scores of its own.
func questions(n int) []entail.Pair {
	pairs := make([]entail.Pair, n)
	for i := range pairs {
		pairs[i] = entail.Pair{Premise: "evidence", Hypothesis: strings.Repeat("x", i%97+1)}
	}
	return pairs
}

func checkScores(t *testing.T, pairs []entail.Pair, batch entail.Batch) {
	t.Helper()
	if len(batch.Results) != len(pairs) {
		t.Fatalf("%d results for %d pairs", len(batch.Results), len(pairs))
	}
	for i, r := range batch.Results {
		want := supportOf(pairs[i].Hypothesis)
		if r.Err != nil || r.Scores != (entail.Scores{Entailment: want, Neutral: (1 - want) / 4, Contradiction: (1 - want) * 3 / 4, ThreeClass: true}) {
			t.Fatalf("pair %d: %+v, want P(entailment) %v", i, r, want)
		}
	}
}

func TestDescriptionIsCarriedOver(t *testing.T) {
	s := newSidecar()
	v := client(t, s)
	for range 3 {
		got, err := v.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		languages := got.Languages
		got.Languages = nil
		want := entail.Description{
			Name: "sidecar", Digest: digest, ThreeClass: true, MaxTokens: 512, TrainedTokens: 256, PairOverhead: 3,
			QATemplate: "{question} {answer}", ScoreKind: entail.ScoreKindTokenProbability, Deterministic: true, Epsilon: 1e-4,
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || !slices.Equal(languages, []string{"en", "de"}) {
			t.Errorf("got %+v with %v, want %+v", got, languages, want)
		}
	}
	if n := s.described.Load(); n != 1 {
		t.Errorf("asked %d times for one description", n)
	}
}

func TestImpossibleDescriptionsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		kind  remote.Kind
		spoil func(*plumblinev1.DescribeResponse)
	}{
		"version":    {remote.WrongVersion, func(d *plumblinev1.DescribeResponse) { d.ProtocolVersion = 2 }},
		"no version": {remote.WrongVersion, func(d *plumblinev1.DescribeResponse) { d.ProtocolVersion = 0 }},
		"digest":     {remote.DigestMissing, func(d *plumblinev1.DescribeResponse) { d.Digest = "" }},
		"no classes": {remote.BadDescription, func(d *plumblinev1.DescribeResponse) { d.Classes = nil }},
		"one class":  {remote.BadDescription, func(d *plumblinev1.DescribeResponse) { d.Classes = d.Classes[:1] }},
		"overhead":   {remote.BadDescription, func(d *plumblinev1.DescribeResponse) { d.PairOverhead = 512 }},
		"trained":    {remote.BadDescription, func(d *plumblinev1.DescribeResponse) { d.TrainedTokens = 513 }},
		"epsilon":    {remote.BadDescription, func(d *plumblinev1.DescribeResponse) { d.Epsilon = -1 }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSidecar()
			s.description = func() *plumblinev1.DescribeResponse { d := threeClass(); c.spoil(d); return d }
			v := client(t, s)
			_, err := v.Describe(t.Context())
			wantViolation(t, err, c.kind)
			_, err = v.Verify(t.Context(), questions(1))
			wantViolation(t, err, c.kind)
			wantViolation(t, v.Probe(t.Context()), c.kind)
		})
	}
}

func wantViolation(t *testing.T, err error, kind remote.Kind) {
	t.Helper()
	broken, ok := errors.AsType[*remote.ProtocolError](err)
	if !ok || broken.Kind != kind || !errors.Is(err, entail.ErrBadReply) {
		t.Errorf("got %v, want a ProtocolError %s", err, kind)
	}
}

func TestScoresComeBackInTheOrderOfThePairs(t *testing.T) {
	reversed := func(pairs []*plumblinev1.VerifyPair) []*plumblinev1.VerifyResponse {
		var responses []*plumblinev1.VerifyResponse
		for _, pair := range slices.Backward(pairs) {
			responses = append(responses, good([]*plumblinev1.VerifyPair{pair})...)
		}
		return responses
	}
	s := newSidecar()
	s.verify = replying(reversed)
	pairs := questions(300)
	batch, err := client(t, s).Verify(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	checkScores(t, pairs, batch)
	want := entail.Usage{Pairs: 300, Tokens: 7 * 300, Inference: 300 * time.Second, Verifier: "sidecar", Digest: digest}
	if batch.Usage != want {
		t.Errorf("usage %+v, want %+v", batch.Usage, want)
	}
}

func TestTwoClassesHaveNoNeutral(t *testing.T) {
	s := newSidecar()
	s.description = func() *plumblinev1.DescribeResponse {
		d := threeClass()
		d.Classes = []plumblinev1.EntailmentClass{
			plumblinev1.EntailmentClass_ENTAILMENT_CLASS_NOT_SUPPORTED, plumblinev1.EntailmentClass_ENTAILMENT_CLASS_ENTAILMENT,
		}
		return d
	}
	s.verify = replying(func(pairs []*plumblinev1.VerifyPair) []*plumblinev1.VerifyResponse {
		return []*plumblinev1.VerifyResponse{{Digest: digest, Results: []*plumblinev1.VerifyResult{{
			Id: pairs[0].GetId(), Status: plumblinev1.Status_STATUS_OK, Probabilities: &plumblinev1.ClassProbabilities{Entailment: 0.25},
		}}}}
	})
	batch, err := client(t, s).Verify(t.Context(), questions(1))
	if err != nil || batch.Results[0] != (entail.Result{Scores: entail.Scores{Entailment: 0.25}}) {
		t.Errorf("got %+v, %v", batch, err)
	}
}

// TestRepliesThatBreakTheContractAreRefused has one reply for each kind of
// violation; none of them may become a score.
func TestRepliesThatBreakTheContractAreRefused(t *testing.T) {
	type response = plumblinev1.VerifyResponse
	nan := func() float64 { var zero float64; return zero / zero }()
	edit := func(change func(*response)) func([]*plumblinev1.VerifyPair) []*response {
		return func(pairs []*plumblinev1.VerifyPair) []*response {
			responses := good(pairs)
			change(responses[0])
			return responses
		}
	}
	for name, c := range map[string]struct {
		kind  remote.Kind
		reply func([]*plumblinev1.VerifyPair) []*response
	}{
		"id that was never sent": {remote.UnknownID, edit(func(r *response) { r.Results[1].Id = "3" })},
		"id of another form":     {remote.UnknownID, edit(func(r *response) { r.Results[1].Id = "01" })},
		"negative id":            {remote.UnknownID, edit(func(r *response) { r.Results[1].Id = "-1" })},
		"no id":                  {remote.UnknownID, edit(func(r *response) { r.Results[1].Id = "" })},
		"same id twice":          {remote.DuplicateID, edit(func(r *response) { r.Results[1].Id = "0" })},
		"one result too many":    {remote.DuplicateID, edit(func(r *response) { r.Results = append(r.Results, r.Results[0]) })},
		"result after all":       {remote.DuplicateID, func(p []*plumblinev1.VerifyPair) []*response { return append(good(p), good(p[:1])...) }},
		"one result too few":     {remote.MissingID, edit(func(r *response) { r.Results = r.Results[1:] })},
		"no reply":               {remote.MissingID, func([]*plumblinev1.VerifyPair) []*response { return nil }},
		"not a number":           {remote.BadProbability, edit(func(r *response) { r.Results[0].Probabilities.Neutral = &nan })},
		"above one":              {remote.BadProbability, edit(func(r *response) { r.Results[0].Probabilities.Entailment = 1.0001 })},
		"below zero":             {remote.BadProbability, edit(func(r *response) { r.Results[0].Probabilities.Entailment = -1e-9 })},
		"logits":                 {remote.BadProbability, edit(func(r *response) { r.Results[0].Probabilities.Entailment = 3.7 })},
		"sum":                    {remote.BadSum, edit(func(r *response) { r.Results[0].Probabilities.Neutral = new(0.9) })},
		"two classes of three": {remote.WrongClasses, edit(func(r *response) {
			r.Results[0].Probabilities = &plumblinev1.ClassProbabilities{Entailment: 0.3}
		})},
		"half of the classes":  {remote.WrongClasses, edit(func(r *response) { r.Results[0].Probabilities.Contradiction = nil })},
		"no status":            {remote.BadStatus, edit(func(r *response) { r.Results[0].Status = 0 })},
		"status of the future": {remote.BadStatus, edit(func(r *response) { r.Results[0].Status = 99 })},
		"OK without scores":    {remote.BadStatus, edit(func(r *response) { r.Results[0].Probabilities = nil })},
		"failure with scores":  {remote.BadStatus, edit(func(r *response) { r.Results[0].Status = plumblinev1.Status_STATUS_TOO_LONG })},
		"no digest":            {remote.DigestMissing, edit(func(r *response) { r.Digest = "" })},
		"digest nobody has":    {remote.DigestUnknown, edit(func(r *response) { r.Digest = "sha256:other" })},
		"digest change in call": {remote.DigestChanged, func(p []*plumblinev1.VerifyPair) []*response {
			r := append(good(p[:1]), good(p[1:])...)
			r[1].Digest = "sha256:two"
			return r
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSidecar()
			s.verify = replying(c.reply)
			batch, err := client(t, s).Verify(t.Context(), questions(3))
			wantViolation(t, err, c.kind)
			if batch.Results != nil {
				t.Errorf("results of a broken reply: %+v", batch.Results)
			}
		})
	}
}

func TestAnotherModelIsDescribedAnew(t *testing.T) {
	s := newSidecar()
	v := client(t, s)
	if _, err := v.Verify(t.Context(), questions(2)); err != nil {
		t.Fatal(err)
	}
	two := threeClass()
	two.Name, two.Digest = "successor", "sha256:two"
	s.description = func() *plumblinev1.DescribeResponse { return two }
	s.verify = replying(func(pairs []*plumblinev1.VerifyPair) []*plumblinev1.VerifyResponse {
		responses := good(pairs)
		responses[0].Digest = two.GetDigest()
		return responses
	})
	batch, err := v.Verify(t.Context(), questions(2))
	if err != nil || batch.Usage.Verifier != "successor" || batch.Usage.Digest != "sha256:two" {
		t.Errorf("usage %+v, %v", batch.Usage, err)
	}
	if description, err := v.Describe(t.Context()); err != nil || description.Name != "successor" {
		t.Errorf("described as %+v, %v", description, err)
	}
}

// TestReplicasMayHoldTwoModels is a roll-out: calls take turns over an old and a
// new replica, and each names the one that answered.
func TestReplicasMayHoldTwoModels(t *testing.T) {
	addresses := make([]string, 2)
	for i, name := range []string{"old", "new"} {
		s := newSidecar()
		s.description = func() *plumblinev1.DescribeResponse {
			d := threeClass()
			d.Name, d.Digest = name, "sha256:"+name
			return d
		}
		s.verify = replying(func(pairs []*plumblinev1.VerifyPair) []*plumblinev1.VerifyResponse {
			responses := good(pairs)
			responses[0].Digest = "sha256:" + name
			return responses
		})
		addresses[i] = serve(t, s)
	}
	v := open(t, remote.Config{Address: "grpc://" + strings.Join(addresses, ",")})
	answers := map[string]int{}
	ask := func() {
		t.Helper()
		batch, err := v.Verify(t.Context(), questions(3))
		if err != nil {
			t.Fatal(err)
		}
		if batch.Usage.Digest != "sha256:"+batch.Usage.Verifier {
			t.Fatalf("usage mixes models: %+v", batch.Usage)
		}
		answers[batch.Usage.Verifier]++
	}
	for range 40 {
		ask()
	}
	// The connection to one of them may take longer than all of these calls.
	testwait.For(t, "calls take turns", func() bool { ask(); return answers["old"] > 0 && answers["new"] > 0 })
}

func TestPairsThatCannotBeSentFailAlone(t *testing.T) {
	s := newSidecar()
	v := open(t, remote.Config{Address: "grpc://" + serve(t, s), MaxMessageBytes: 1000})
	pairs := []entail.Pair{
		{Premise: "p", Hypothesis: ""},
		{Premise: "p", Hypothesis: "good"},
		{Premise: "\xff", Hypothesis: "h"},
		{Premise: strings.Repeat("p", 1000), Hypothesis: "h"},
	}
	batch, err := v.Verify(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []plumblinev1.Status{
		plumblinev1.Status_STATUS_MISSING_INPUT, plumblinev1.Status_STATUS_OK,
		plumblinev1.Status_STATUS_INVALID_INPUT, plumblinev1.Status_STATUS_TOO_LONG,
	} {
		got := plumblinev1.Status_STATUS_OK
		if err := batch.Results[i].Err; err != nil {
			got = score.Reason(err).Status
		}
		if got != want {
			t.Errorf("pair %d: %v, want %v", i, got, want)
		}
	}
	if batch, err := v.Verify(t.Context(), nil); err != nil || len(batch.Results) != 0 || batch.Usage.Digest != digest {
		t.Errorf("no pairs: %+v, %v", batch, err)
	}
}

func TestFailuresOfPairsKeepTheirStatus(t *testing.T) {
	s := newSidecar()
	s.verify = replying(func(pairs []*plumblinev1.VerifyPair) []*plumblinev1.VerifyResponse {
		responses := good(pairs)
		responses[0].Results[1] = &plumblinev1.VerifyResult{Id: "1", Status: plumblinev1.Status_STATUS_TOO_LONG, Reason: strings.Repeat("ü", 1000)}
		responses[0].Results[2] = &plumblinev1.VerifyResult{Id: "2", Status: plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE}
		return responses
	})
	batch, err := client(t, s).Verify(t.Context(), questions(3))
	if err != nil {
		t.Fatal(err)
	}
	tooLong, ok := errors.AsType[*score.Missing](batch.Results[1].Err)
	if !ok || tooLong.Status != plumblinev1.Status_STATUS_TOO_LONG || len(tooLong.Reason) > 400 || !strings.HasPrefix(tooLong.Reason, "üü") {
		t.Errorf("too long: %v", batch.Results[1].Err)
	}
	down, ok := errors.AsType[*score.Missing](batch.Results[2].Err)
	if !ok || down.Status != plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE || down.Reason == "" {
		t.Errorf("unavailable: %v", batch.Results[2].Err)
	}
}

func TestACallInWhichEveryPairFailsForTheModelFails(t *testing.T) {
	s := newSidecar()
	s.verify = replying(func(pairs []*plumblinev1.VerifyPair) []*plumblinev1.VerifyResponse {
		response := new(plumblinev1.VerifyResponse)
		for _, pair := range pairs {
			response.Results = append(response.Results, &plumblinev1.VerifyResult{
				Id: pair.GetId(), Status: plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE, Reason: "no model",
			})
		}
		return []*plumblinev1.VerifyResponse{response}
	})
	_, err := client(t, s).Verify(t.Context(), questions(3))
	if !errors.Is(err, entail.ErrUnavailable) || !strings.Contains(err.Error(), "no model") {
		t.Errorf("got %v", err)
	}
}

// TestLargeCallsFlow sends far more than the windows of HTTP/2 hold to sidecars
// that read and write in the two extreme orders.
func TestLargeCallsFlow(t *testing.T) {
	premise := strings.Repeat("evidence ", 2000) // 18 kB, 54 MB in all
	pairs := questions(3000)
	for i := range pairs {
		pairs[i].Premise = premise
	}
	padding := strings.Repeat("-", 290)
	var largest atomic.Int64
	answerAtOnce := func(stream verifyStream) error {
		for {
			request, err := stream.Recv()
			if err != nil {
				return ignoreEOF(err)
			}
			largest.Store(max(largest.Load(), int64(proto.Size(request))))
			if len(request.GetPairs()) > 64 {
				return status.Error(codes.InvalidArgument, "too many pairs in a message")
			}
			for _, pair := range request.GetPairs() {
				r := result(pair)
				r.Reason = padding // makes the replies large, too
				if err := stream.Send(&plumblinev1.VerifyResponse{Digest: digest, Results: []*plumblinev1.VerifyResult{r}}); err != nil {
					return err
				}
			}
		}
	}
	for name, verify := range map[string]func(verifyStream) error{
		"answers at once":       answerAtOnce,
		"reads all, then talks": replying(good),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSidecar()
			s.verify = verify
			batch, err := client(t, s).Verify(t.Context(), pairs)
			if err != nil {
				t.Fatal(err)
			}
			checkScores(t, pairs, batch)
		})
	}
	if largest.Load() > 1<<20 {
		t.Errorf("a message had %d bytes", largest.Load())
	}
}

func TestDeadlineAndCancellationReachTheSidecar(t *testing.T) {
	s := newSidecar()
	deadlines, ended := make(chan time.Time, 2), make(chan struct{}, 2)
	s.verify = func(stream verifyStream) error {
		deadline, _ := stream.Context().Deadline()
		deadlines <- deadline
		<-stream.Context().Done()
		ended <- struct{}{}
		return nil
	}
	v := client(t, s)
	if _, err := v.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := v.Verify(ctx, questions(1)); done <- err }()
	select {
	case theirs := <-deadlines:
		// gRPC carries what remains, so that the sidecar's deadline is later by the transit.
		if ours, _ := ctx.Deadline(); theirs.Before(ours) || theirs.After(ours.Add(30*time.Second)) {
			t.Errorf("the sidecar's deadline is %v, ours %v", theirs, ours)
		}
	case err := <-done:
		t.Fatalf("the call did not reach the sidecar: %v", err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancellation: %v", err)
	}
	<-ended

	// This call may end before it reaches the sidecar.
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := v.Verify(ctx, questions(1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deadline: %v", err)
	}
}

// The other side's clock may see the deadline pass before ours does; whatever it
// then says, it was our deadline. Long before, it is the other side's failure.
func TestADeadlineThatTheSidecarSeesFirst(t *testing.T) {
	for name, c := range map[string]struct {
		sent  error
		early error // what it means where there is time left
	}{
		"a status":         {status.Error(codes.DeadlineExceeded, "time is over"), entail.ErrUnavailable},
		"a cancellation":   {status.Error(codes.Canceled, "context canceled"), entail.ErrUnavailable},
		"no status at all": {nil, entail.ErrBadReply},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSidecar()
			s.verify = func(stream verifyStream) error {
				ours, _ := stream.Context().Deadline()
				time.Sleep(min(time.Until(ours)-30*time.Millisecond, time.Second))
				return c.sent
			}
			v := client(t, s)
			if _, err := v.Describe(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := v.Verify(ctx, questions(1)); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() == nil {
				t.Errorf("just before the deadline: %v, and the context: %v", err, ctx.Err())
			}
			ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := v.Verify(ctx, questions(1)); !errors.Is(err, c.early) {
				t.Errorf("long before the deadline: %v, want %v", err, c.early)
			}
		})
	}
}

func TestStatusesMapToTheErrorsOfVerifiers(t *testing.T) {
	busy, err := status.New(codes.ResourceExhausted, "full").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sent error
		want error
	}{
		{status.Error(codes.Unavailable, "draining"), entail.ErrUnavailable},
		{status.Error(codes.DeadlineExceeded, "its own"), entail.ErrUnavailable},
		{busy.Err(), entail.ErrBusy},
		{status.Error(codes.Internal, "defect"), entail.ErrBadReply},
		{errors.New("no status"), entail.ErrBadReply},
		{status.Error(codes.InvalidArgument, "form"), entail.ErrRejected},
		{status.Error(codes.Unauthenticated, "who"), entail.ErrRejected},
		{status.Error(codes.Unimplemented, "what"), entail.ErrRejected},
	} {
		s := newSidecar()
		s.verify = func(verifyStream) error { return c.sent }
		_, err := client(t, s).Verify(t.Context(), questions(1))
		if !errors.Is(err, c.want) {
			t.Errorf("%v became %v, want %v", c.sent, err, c.want)
		}
		retry, says := errors.AsType[*entail.RetryAfter](err)
		if says != errors.Is(c.want, entail.ErrBusy) || says && retry.After != time.Second {
			t.Errorf("%v: retry after %+v", c.sent, retry)
		}
	}
}

func TestAnAddressWithoutAServerIsUnavailable(t *testing.T) {
	address := testport.Address(t)
	v := open(t, remote.Config{Address: "grpc://" + address})
	if _, err := v.Verify(t.Context(), questions(1)); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if err := v.Probe(t.Context()); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("Probe: %v", err)
	}
	// The server comes, and the client finds it by itself.
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, listener, newSidecar())
	testwait.For(t, "a verifier that answers", func() bool { return v.Probe(t.Context()) == nil })
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, listener, newSidecar())
	pairs := questions(5)
	batch, err := open(t, remote.Config{Address: "unix:" + path}).Verify(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	checkScores(t, pairs, batch)
}

// TestHealthDecidesWhoIsAsked turns one of two replicas sick, then both.
func TestHealthDecidesWhoIsAsked(t *testing.T) {
	var healths [2]*health.Server
	var asked [2]atomic.Int32
	addresses := make([]string, 2)
	for i := range addresses {
		s := newSidecar()
		s.verify = func(stream verifyStream) error { asked[i].Add(1); return replying(good)(stream) }
		healths[i] = health.NewServer()
		addresses[i] = serve(t, s, func(server *grpc.Server) { healthpb.RegisterHealthServer(server, healths[i]) })
	}
	v := open(t, remote.Config{Address: "grpc://" + strings.Join(addresses, ",")})
	verify := func() error { _, err := v.Verify(t.Context(), questions(1)); return err }
	testwait.For(t, "both are asked", func() bool { return verify() == nil && asked[0].Load() > 0 && asked[1].Load() > 0 })

	healths[0].SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
	testwait.For(t, "the sick one is left alone", func() bool {
		before := asked[0].Load()
		for range 4 {
			if err := verify(); err != nil {
				t.Fatal(err)
			}
		}
		return asked[0].Load() == before
	})
	healths[1].Shutdown()
	testwait.For(t, "nobody is left", func() bool { return errors.Is(verify(), entail.ErrUnavailable) })
	healths[0].SetServingStatus("", healthpb.HealthCheckResponse_SERVING)
	testwait.For(t, "one has recovered", func() bool { return verify() == nil })
}

func TestACloseEndsCalls(t *testing.T) {
	s := newSidecar()
	inside := make(chan struct{})
	s.verify = func(stream verifyStream) error { close(inside); <-stream.Context().Done(); return nil }
	v, err := remote.Open(remote.Config{Address: "grpc://" + serve(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { _, err := v.Verify(context.Background(), questions(1)); done <- err }()
	<-inside
	if err := errors.Join(v.Close(), v.Close()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-done; !errors.Is(err, entail.ErrClosed) {
		t.Errorf("the call inside ended with %v", err)
	}
	if _, err := v.Verify(t.Context(), questions(1)); !errors.Is(err, entail.ErrClosed) {
		t.Errorf("a call after Close: %v", err)
	}
}

func TestConcurrentCallsDoNotMix(t *testing.T) {
	s := newSidecar()
	v := client(t, s)
	var wg sync.WaitGroup
	for n := range 32 {
		wg.Go(func() {
			pairs := questions(n*7 + 1)[n/2:]
			batch, err := v.Verify(t.Context(), pairs)
			if err != nil {
				t.Error(err)
				return
			}
			for i, r := range batch.Results {
				if r.Scores.Entailment != supportOf(pairs[i].Hypothesis) {
					t.Errorf("call %d pair %d: %+v", n, i, r)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestWrongAddressesSayHowToWriteThem(t *testing.T) {
	for _, address := range []string{
		"", "localhost:50051", "http://localhost:50051", "grpc://", "grpc://localhost", "grpc://a:1,b", "grpc://:50051", "grpcs://a:", "unix:",
	} {
		if v, err := remote.Open(remote.Config{Address: address}); err == nil {
			t.Errorf("%q is taken", address)
			_ = v.Close()
		} else if !strings.Contains(err.Error(), fmt.Sprintf("%q", address)) {
			t.Errorf("the error does not name %q: %v", address, err)
		}
	}
}
