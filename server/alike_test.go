package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/proto/plumbline/v1/plumblinev1connect"
	"plumbline/server"
)

// failure is an error as a client sees it, whatever the protocol.
type failure struct {
	code    codes.Code
	message string
	details []proto.Message
}

func failureOf(t *testing.T, err error) failure {
	t.Helper()
	var f failure
	var packed []*anypb.Any
	var connectErr *connect.Error
	if errors.As(err, &connectErr) {
		f.code, f.message = codes.Code(connectErr.Code()), connectErr.Message()
		for _, d := range connectErr.Details() {
			m, err := d.Value()
			if err != nil {
				t.Fatal(err)
			}
			f.details = append(f.details, m)
		}
		return f
	}
	s := status.Convert(err)
	f.code, f.message = s.Code(), s.Message()
	packed = s.Proto().GetDetails()
	for _, d := range packed {
		m, err := d.UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		f.details = append(f.details, m)
	}
	return f
}

func (f failure) String() string {
	parts := []string{f.code.String(), f.message}
	for _, d := range f.details {
		text, _ := prototext.MarshalOptions{}.Marshal(d)
		parts = append(parts, strings.Join(strings.Fields(string(text)), " "))
	}
	return strings.Join(parts, " | ")
}

func (f failure) reason() string {
	for _, d := range f.details {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// alike calls on every protocol and fails the test unless all give the same.
func alike[Req, Res any](t *testing.T, r *running, procedure string, req *Req) (*Res, failure) {
	t.Helper()
	var first *Res
	var firstFailure failure
	for i, c := range everywhere[Req, Res](r, procedure) {
		res, err := c.call(t.Context(), req)
		var f failure
		if err != nil {
			f = failureOf(t, err)
			res = nil
		} else {
			withoutTiming(any(res).(proto.Message).ProtoReflect())
		}
		if i == 0 {
			first, firstFailure = res, f
			continue
		}
		if f.String() != firstFailure.String() {
			t.Errorf("%s fails with\n  %s\nwhere grpc has\n  %s", c.name, f, firstFailure)
		}
		if !proto.Equal(any(res).(proto.Message), any(first).(proto.Message)) {
			t.Errorf("%s answers\n  %.1000v\nwhere grpc has\n  %.1000v", c.name, res, first)
		}
	}
	return first, firstFailure
}

// withoutTiming drops what differs from call to call, at every depth.
func withoutTiming(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Name() == "timing":
			m.Clear(field)
		case field.IsList() && field.Message() != nil:
			for i := range v.List().Len() {
				withoutTiming(v.List().Get(i).Message())
			}
		case field.Message() != nil && !field.IsMap():
			withoutTiming(v.Message())
		}
		return true
	})
}

func TestAllProtocolsAnswerAlike(t *testing.T) {
	r := run(t, settings(), server.Options{Engine: overlap()})
	r.awaitReady()

	t.Run("a good request", func(t *testing.T) {
		res, f := alike[plumblinev1.ScoreRetrievalRequest, plumblinev1.ScoreRetrievalResponse](t, r, scoreRetrieval, retrievalRequest())
		if f.code != codes.OK || res.GetSignals()["max_score"].GetValue() != 0.9 {
			t.Errorf("got %v, %v", res, f)
		}
	})
	t.Run("a broken rule", func(t *testing.T) {
		req := retrievalRequest()
		req.Rankings[0].Items[2].Id = ""
		req.K = 1_000_000
		_, f := alike[plumblinev1.ScoreRetrievalRequest, plumblinev1.ScoreRetrievalResponse](t, r, scoreRetrieval, req)
		if f.code != codes.InvalidArgument || f.reason() != "FIELD_INVALID" || !slices.Equal(violated(f), []string{"rankings[0].items[2].id", "k"}) {
			t.Errorf("got %v", f)
		}
	})
	t.Run("a rule of the scorer", func(t *testing.T) {
		req := retrievalRequest()
		req.Signals = []string{"max_score", "no_such_signal"}
		_, f := alike[plumblinev1.ScoreRetrievalRequest, plumblinev1.ScoreRetrievalResponse](t, r, scoreRetrieval, req)
		if f.code != codes.InvalidArgument || !slices.Equal(violated(f), []string{"signals[1]"}) {
			t.Errorf("got %v", f)
		}
	})
	t.Run("an unknown policy", func(t *testing.T) {
		_, f := alike[plumblinev1.DecideRequest, plumblinev1.DecideResponse](t, r, plumblinev1connect.GateServiceDecideProcedure,
			&plumblinev1.DecideRequest{Policy: "nobody's", Subject: &plumblinev1.DecideRequest_Inputs{Inputs: &structpb.Struct{}}})
		if f.code != codes.NotFound || f.reason() != "POLICY_NOT_FOUND" {
			t.Errorf("got %v", f)
		}
	})
	t.Run("an unknown verifier", func(t *testing.T) {
		_, f := alike[plumblinev1.ScoreConfidenceRequest, plumblinev1.ScoreConfidenceResponse](t, r, plumblinev1connect.ConfidenceServiceScoreConfidenceProcedure,
			&plumblinev1.ScoreConfidenceRequest{Verifier: "nobody's"})
		if f.code != codes.NotFound || f.reason() != "VERIFIER_NOT_FOUND" {
			t.Errorf("got %v", f)
		}
	})
	t.Run("rpcs without side effects", func(t *testing.T) {
		info, f := alike[plumblinev1.GetInfoRequest, plumblinev1.GetInfoResponse](t, r, plumblinev1connect.InfoServiceGetInfoProcedure, &plumblinev1.GetInfoRequest{})
		if f.code != codes.OK || info.GetVersion() != "1.2.3" || !info.GetVerifiers()[0].GetReady() {
			t.Errorf("got %v, %v", info, f)
		}
		description, f := alike[plumblinev1.DescribeRequest, plumblinev1.DescribeResponse](t, r, plumblinev1connect.VerifierServiceDescribeProcedure, &plumblinev1.DescribeRequest{})
		if f.code != codes.OK || description.GetName() != "fake" {
			t.Errorf("got %v, %v", description, f)
		}
		gates, f := alike[plumblinev1.ListGatesRequest, plumblinev1.ListGatesResponse](t, r, plumblinev1connect.GateServiceListGatesProcedure, &plumblinev1.ListGatesRequest{})
		if f.code != codes.OK || len(gates.GetGates()) == 0 {
			t.Errorf("got %v, %v", gates, f)
		}
	})
}

func violated(f failure) []string {
	var fields []string
	for _, d := range f.details {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.GetFieldViolations() {
				fields = append(fields, v.GetField())
			}
		}
	}
	return fields
}

// TestStreamsAnswerAlike sends a good and a bad item over one stream of each
// protocol that can.
func TestStreamsAnswerAlike(t *testing.T) {
	r := run(t, settings(), server.Options{Engine: overlap()})
	bad := retrievalRequest()
	bad.Id, bad.Rankings = "bad", nil
	items := []*plumblinev1.ScoreRetrievalRequest{retrievalRequest(), bad, retrievalRequest()}
	for _, c := range retrievalStreams(r) {
		t.Run(c.name, func(t *testing.T) {
			results, err := c.exchange(t.Context(), items)
			if err != nil {
				t.Fatal(err)
			}
			if len(results) != 3 || results[0].GetResponse().GetId() != "r1" || results[2].GetResponse() == nil {
				t.Fatalf("results = %v", results)
			}
			if e := results[1].GetError(); e.GetCode() != "INVALID_ARGUMENT" || e.GetField() != "rankings" || e.GetReason() != "FIELD_INVALID" || e.GetMessage() == "" {
				t.Errorf("the bad item's error is %v", e)
			}
		})
	}
}

type streamCaller struct {
	name     string
	exchange func(context.Context, []*plumblinev1.ScoreRetrievalRequest) ([]*plumblinev1.ScoreRetrievalResult, error)
}

func retrievalStreams(r *running) []streamCaller {
	native := plumblinev1.NewRetrievalServiceClient(r.dial(r.GRPCAddr()))
	callers := []streamCaller{{"grpc", func(ctx context.Context, items []*plumblinev1.ScoreRetrievalRequest) ([]*plumblinev1.ScoreRetrievalResult, error) {
		stream, err := native.StreamScoreRetrieval(ctx)
		if err != nil {
			return nil, err
		}
		return exchange(items, stream.Send, stream.Recv, stream.CloseSend)
	}}}
	for _, p := range protocols() {
		if !p.http2 && p.name != "connect over http2" {
			continue
		}
		client := plumblinev1connect.NewRetrievalServiceClient(r.client(true), r.url(""), p.options...)
		callers = append(callers, streamCaller{p.name, func(ctx context.Context, items []*plumblinev1.ScoreRetrievalRequest) ([]*plumblinev1.ScoreRetrievalResult, error) {
			stream, err := client.StreamScoreRetrieval(ctx)
			if err != nil {
				return nil, err
			}
			defer func() { _ = stream.CloseResponse() }()
			return exchange(items, stream.Send, stream.Receive, stream.CloseRequest)
		}})
	}
	return callers
}

// exchange sends items one by one, each after the answer to the one before.
func exchange(
	items []*plumblinev1.ScoreRetrievalRequest, send func(*plumblinev1.StreamScoreRetrievalRequest) error,
	receive func() (*plumblinev1.StreamScoreRetrievalResponse, error), closeSend func() error,
) ([]*plumblinev1.ScoreRetrievalResult, error) {
	var results []*plumblinev1.ScoreRetrievalResult
	for _, item := range items {
		if err := send(&plumblinev1.StreamScoreRetrievalRequest{Request: item}); err != nil {
			return nil, err
		}
		response, err := receive()
		if err != nil {
			return nil, err
		}
		results = append(results, response.GetResult())
	}
	if err := closeSend(); err != nil {
		return nil, err
	}
	if _, err := receive(); err == nil {
		return nil, errors.New("the stream goes on after its last message")
	}
	return results, nil
}

func TestABatchItemFailsAlone(t *testing.T) {
	r := run(t, settings(), server.Options{Engine: overlap()})
	bad := retrievalRequest()
	bad.Rankings[0].Name = ""
	res, f := alike[plumblinev1.BatchScoreRetrievalRequest, plumblinev1.BatchScoreRetrievalResponse](t, r,
		plumblinev1connect.RetrievalServiceBatchScoreRetrievalProcedure,
		&plumblinev1.BatchScoreRetrievalRequest{Requests: []*plumblinev1.ScoreRetrievalRequest{bad, retrievalRequest(), {}}})
	results := res.GetResults()
	if f.code != codes.OK || len(results) != 3 {
		t.Fatalf("got %.1000v, %v", res, f)
	}
	if results[0].GetError().GetField() != "rankings[0].name" || results[1].GetResponse().GetId() != "r1" || results[2].GetError().GetField() != "rankings" {
		t.Errorf("got %.1000v", results)
	}
}

func TestMalformedMessagesAreNamed(t *testing.T) {
	r := run(t, settings(), server.Options{Engine: overlap()})
	for _, c := range []struct{ name, contentType, body, want string }{
		{"an unknown JSON field", "application/json", `{"question": "?", "rankngs": []}`, `unknown field \"rankngs\"`},
		{"no JSON", "application/json", `{"question": `, "unexpected EOF"},
		{"an empty body", "application/json", ``, "send {} for the empty message"},
		{"a wrong JSON type", "application/json", `{"k": "many"}`, "invalid value for uint32 field k"},
		{"no protobuf", "application/proto", "\xff\xff", "cannot parse invalid wire-format data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, body := r.post(scoreRetrieval, c.contentType, []byte(c.body))
			if code != http.StatusBadRequest || !strings.Contains(body, c.want) || !strings.Contains(body, "MESSAGE_MALFORMED") || !strings.Contains(body, `"invalid_argument"`) {
				t.Errorf("got %d %s", code, body)
			}
		})
	}
	t.Run("no protobuf over grpc", func(t *testing.T) {
		err := r.dial(r.GRPCAddr()).Invoke(t.Context(), scoreRetrieval, &rawMessage{[]byte("\xff\xff")}, new(plumblinev1.ScoreRetrievalResponse), rawCodec())
		if f := failureOf(t, err); f.code != codes.InvalidArgument || f.reason() != "MESSAGE_MALFORMED" || !strings.Contains(f.message, "cannot parse invalid wire-format data") {
			t.Errorf("got %v", f)
		}
	})
	t.Run("JSON in both spellings", func(t *testing.T) {
		for _, field := range []string{"score_kind", "scoreKind"} {
			body := fmt.Sprintf(`{"id": "x", "question": "?", "rankings": [{"name": "dense", %q: "SCORE_KIND_COSINE", "items": [{"id": "a", "score": 0.5}]}]}`, field)
			code, text := r.post(scoreRetrieval, "application/json", []byte(body))
			if code != http.StatusOK || !strings.Contains(text, `"fused_by_service"`) && !strings.Contains(text, `"weak_when"`) {
				t.Errorf("%s: got %d %s", field, code, text)
			}
		}
	})
}
