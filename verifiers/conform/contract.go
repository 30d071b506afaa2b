package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
)

const (
	// protocolVersion is the version of VerifierService that is checked.
	protocolVersion = 1
	// sumTolerance is what Plumbline's client allows half-precision models.
	sumTolerance = 1e-2
)

// describes checks the description as Plumbline's client does.
func describes(_ context.Context, s *subject) error {
	d := s.description
	classes := slices.Sorted(slices.Values(d.GetClasses()))
	switch {
	case d.GetName() == "":
		return errors.New("name is empty")
	case d.GetDigest() == "":
		return errors.New("digest is empty")
	case !slices.Equal(classes, twoClasses()) && !slices.Equal(classes, threeClasses()):
		return fmt.Errorf("classes are %v: they must be entailment, neutral and contradiction, or entailment and not supported", d.GetClasses())
	case d.GetMaxTokens() > math.MaxInt32 || d.GetMaxTokens() > 0 && d.GetPairOverhead() >= d.GetMaxTokens():
		return fmt.Errorf("max_tokens %d with pair_overhead %d leaves no window", d.GetMaxTokens(), d.GetPairOverhead())
	case d.GetTrainedTokens() > d.GetMaxTokens():
		return fmt.Errorf("trained_tokens %d is more than max_tokens %d", d.GetTrainedTokens(), d.GetMaxTokens())
	case !(d.GetEpsilon() >= 0 && d.GetEpsilon() <= 1):
		return fmt.Errorf("epsilon %v is no distance of probabilities", d.GetEpsilon())
	default:
		return nil
	}
}

func speaksVersion(_ context.Context, s *subject) error {
	if version := s.description.GetProtocolVersion(); version != protocolVersion {
		return fmt.Errorf("protocol_version is %d and Plumbline speaks %d", version, protocolVersion)
	}
	return nil
}

func isHealthy(ctx context.Context, s *subject) error {
	if s.conn == nil {
		return s.backend.Probe(ctx)
	}
	for _, name := range []string{"", plumblinev1.VerifierService_ServiceDesc.ServiceName} {
		reply, err := healthpb.NewHealthClient(s.conn).Check(ctx, &healthpb.HealthCheckRequest{Service: name})
		if err != nil {
			return fmt.Errorf("health of %q: %w", name, err)
		}
		if reply.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			return fmt.Errorf("health of %q is %s", name, reply.GetStatus())
		}
	}
	return nil
}

// reflects tries both versions of the protocol, whose messages are the same:
// grpcio has the older one only.
func reflects(ctx context.Context, s *subject) error {
	var services []string
	var err error
	for _, method := range []string{
		reflectionpb.ServerReflection_ServerReflectionInfo_FullMethodName,
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
	} {
		services, err = s.listServices(ctx, method)
		if status.Code(err) != codes.Unimplemented {
			break
		}
	}
	switch {
	case status.Code(err) == codes.Unimplemented:
		return skipped("it serves no reflection, which is a help for people with grpcurl and no duty")
	case err != nil:
		return fmt.Errorf("reflection: %w", err)
	case !slices.Contains(services, plumblinev1.VerifierService_ServiceDesc.ServiceName):
		return fmt.Errorf("reflection lists only %s", strings.Join(services, ", "))
	default:
		return nil
	}
}

func (s *subject) listServices(ctx context.Context, method string) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.conn.NewStream(ctx, &reflectionpb.ServerReflection_ServiceDesc.Streams[0], method)
	if err != nil {
		return nil, err
	}
	request := &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	reply := &reflectionpb.ServerReflectionResponse{}
	if err := stream.RecvMsg(reply); err != nil {
		return nil, err
	}
	var names []string
	for _, service := range reply.GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	return names, nil
}

// givesProbabilities checks the form of scores, and that there are some.
func givesProbabilities(ctx context.Context, s *subject) error {
	if s.conn != nil {
		return s.checkWireScores(ctx)
	}
	// The backend has looked at each score already.
	answers, err := s.ask(ctx, pairs())
	if err != nil {
		return err
	}
	if all := slices.IndexFunc(answers, func(a answer) bool { return a.refusal == "" }); all < 0 {
		return fmt.Errorf("no pair has scores: %s", answers[0].refusal)
	}
	return nil
}

func (s *subject) checkWireScores(ctx context.Context) error {
	responses, err := s.exchange(ctx, request("", pairs()...))
	if err != nil {
		return err
	}
	some := false
	for result := range results(responses) {
		if err := s.checkScores(result); err != nil {
			return fmt.Errorf("the result of pair %q: %w", result.GetId(), err)
		}
		some = some || result.GetStatus() == plumblinev1.Status_STATUS_OK
	}
	if !some {
		return errors.New("no easy pair has scores")
	}
	return nil
}

func (s *subject) checkScores(result *plumblinev1.VerifyResult) error {
	p := result.GetProbabilities()
	if err := checkStatus(result); err != nil || p == nil {
		return err
	}
	if has := [...]bool{p.Neutral != nil, p.Contradiction != nil}; has != [...]bool{s.isThreeClass(), s.isThreeClass()} {
		return fmt.Errorf("neutral is set: %t, contradiction is set: %t, and the classes are %v", has[0], has[1], s.description.GetClasses())
	}
	sum := 0.0
	for _, value := range []float64{p.GetEntailment(), p.GetNeutral(), p.GetContradiction()} {
		if !(value >= 0 && value <= 1) {
			return fmt.Errorf("%v is no probability", value)
		}
		sum += value
	}
	if s.isThreeClass() && math.Abs(sum-1) > sumTolerance {
		return fmt.Errorf("the probabilities sum to %.4g", sum)
	}
	return nil
}

// checkStatus checks that a result has either scores or a known status.
func checkStatus(result *plumblinev1.VerifyResult) error {
	st := result.GetStatus()
	_, known := plumblinev1.Status_name[int32(st)]
	switch {
	case !known || st == plumblinev1.Status_STATUS_UNSPECIFIED:
		return fmt.Errorf("its status is %d, which says nothing", st)
	case (st == plumblinev1.Status_STATUS_OK) != (result.GetProbabilities() != nil):
		return fmt.Errorf("its status is %s and it has probabilities: %t", st, result.GetProbabilities() != nil)
	default:
		return nil
	}
}

// pointsTheRightWay compares means, so that no single pair decides.
func pointsTheRightWay(ctx context.Context, s *subject) error {
	same, err := s.mean(ctx, identical())
	if err != nil {
		return err
	}
	other, err := s.mean(ctx, unrelated())
	if err != nil {
		return err
	}
	if same.Entailment <= other.Entailment {
		return fmt.Errorf("mean P(entailment) of claims that repeat their evidence is %.3g, of unrelated ones %.3g", same.Entailment, other.Entailment)
	}
	if s.isThreeClass() && same.Contradiction >= same.Entailment {
		return fmt.Errorf("claims that repeat their evidence have mean P(entailment) %.3g and P(contradiction) %.3g", same.Entailment, same.Contradiction)
	}
	return nil
}

// mean is the mean of the scores that the pairs have.
func (s *subject) mean(ctx context.Context, pairs []entail.Pair) (entail.Scores, error) {
	answers, err := s.ask(ctx, pairs)
	if err != nil {
		return entail.Scores{}, err
	}
	answers = slices.DeleteFunc(answers, func(a answer) bool { return a.refusal != "" })
	if len(answers) == 0 {
		return entail.Scores{}, errors.New("no easy pair has scores")
	}
	var mean entail.Scores
	for _, a := range answers {
		mean.Entailment += a.Entailment / float64(len(answers))
		mean.Contradiction += a.Contradiction / float64(len(answers))
	}
	return mean, nil
}

// namesItsWeights allows for a verifier that took over another model between the
// two calls.
func namesItsWeights(ctx context.Context, s *subject) error {
	responses, err := s.exchange(ctx, request("", pairs()...))
	if err != nil {
		return err
	}
	for _, response := range responses {
		ok := slices.ContainsFunc(response.GetResults(), func(r *plumblinev1.VerifyResult) bool { return r.GetStatus() == plumblinev1.Status_STATUS_OK })
		if !ok || response.GetDigest() == s.description.GetDigest() {
			continue
		}
		now, err := s.client().Describe(ctx, &plumblinev1.DescribeRequest{})
		if err != nil {
			return err
		}
		if response.GetDigest() != now.GetDigest() {
			return fmt.Errorf("a response has the digest %.80q and Describe %.80q", response.GetDigest(), now.GetDigest())
		}
	}
	return nil
}
