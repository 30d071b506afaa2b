package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/server/fault"
	"plumbline/server/metrics"
	"plumbline/server/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const procedure = "/plumbline.v1.GateService/Decide"

type fixture struct {
	*policy.Policy
	metrics *metrics.Metrics
	log     bytes.Buffer
}

func newFixture(limits policy.Limits) *fixture {
	if limits.MaxConcurrentCalls == 0 {
		limits.MaxConcurrentCalls = 10
	}
	if limits.MaxOpenStreams == 0 {
		limits.MaxOpenStreams = 10
	}
	if limits.DefaultDeadline == 0 {
		limits.DefaultDeadline, limits.MaxDeadline = time.Minute, time.Hour
	}
	f := &fixture{metrics: metrics.New("1", "abc")}
	f.Policy = policy.New(limits, f.metrics, slog.New(slog.NewJSONHandler(&f.log, nil)))
	return f
}

func call() *policy.Call {
	return &policy.Call{Procedure: procedure, Protocol: "grpc", Peer: "192.0.2.1:5"}
}

type (
	request  = plumblinev1.DecideRequest
	response = plumblinev1.DecideResponse
)

// do runs a unary call whose request is there.
func (f *fixture) do(ctx context.Context, c *policy.Call, handle func(context.Context, *request) (*response, error)) (*response, error) {
	receive := func(context.Context) (*request, error) { return &request{Policy: "secret text"}, nil }
	return policy.Unary(ctx, f.Policy, c, receive, handle)
}

func reason(err error) fault.Reason {
	if err == nil {
		return ""
	}
	return fault.From(err).Reason
}

func good(context.Context, *request) (*response, error) { return &response{Query: "secret text"}, nil }

func TestAPanicIsAnInternalErrorWithoutItsText(t *testing.T) {
	f := newFixture(policy.Limits{})
	_, unaryErr := f.do(t.Context(), call(), func(context.Context, *request) (*response, error) { panic("a defect") })
	streamErr := f.Open(t.Context(), call(), func(context.Context, policy.Meter) error { panic("a defect") })
	_, causeErr := f.do(t.Context(), call(), func(context.Context, *request) (*response, error) { return nil, errors.New("a defect") })
	for name, err := range map[string]error{"unary": unaryErr, "stream": streamErr, "unknown cause": causeErr} {
		e := fault.From(err)
		if e.Reason != fault.Internal || strings.Contains(e.Message, "defect") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if log := f.log.String(); strings.Count(log, "a defect") < 3 || !strings.Contains(log, "policy_test.go") || !strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the log lacks the cause or the stack: %s", log)
	}
	if _, err := f.do(t.Context(), call(), good); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func TestTheAccessLogHasNoUserText(t *testing.T) {
	f := newFixture(policy.Limits{})
	_, _ = f.do(t.Context(), call(), good)
	_, _ = f.do(t.Context(), call(), func(context.Context, *request) (*response, error) {
		return nil, fault.Field(fault.FieldInvalid, "secret text", "secret text")
	})
	lines := strings.Split(strings.TrimSpace(f.log.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("log: %v", lines)
	}
	for i, want := range []map[string]any{
		{"level": "INFO", "code": "OK", "received": 1.0, "sent": 1.0},
		{"level": "INFO", "code": "INVALID_ARGUMENT", "reason": "FIELD_INVALID", "received": 1.0, "sent": 0.0},
	} {
		if strings.Contains(lines[i], "secret") {
			t.Errorf("the log has user text: %s", lines[i])
		}
		var line map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil {
			t.Fatal(err)
		}
		want["procedure"], want["protocol"], want["peer"], want["msg"] = procedure, "grpc", "192.0.2.1:5", "call"
		for key, value := range want {
			if line[key] != value {
				t.Errorf("line %d: %s is %v, want %v", i, key, line[key], value)
			}
		}
		if took, ok := line["took_ms"].(float64); !ok || took < 0 {
			t.Errorf("line %d: took_ms is %v", i, line["took_ms"])
		}
	}
}

func TestDeadlines(t *testing.T) {
	const standard, most = time.Minute, time.Hour
	f := newFixture(policy.Limits{DefaultDeadline: standard, MaxDeadline: most})
	for name, c := range map[string]struct{ asked, want time.Duration }{
		"none":     {0, standard},
		"short":    {time.Second, time.Second},
		"long":     {10 * time.Minute, 10 * time.Minute},
		"too long": {48 * time.Hour, most},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if c.asked > 0 {
			ctx, cancel = context.WithTimeout(t.Context(), c.asked)
		}
		_, err := f.do(ctx, call(), func(ctx context.Context, _ *request) (*response, error) {
			deadline, ok := ctx.Deadline()
			if left := time.Until(deadline); !ok || left > c.want || left < c.want-10*time.Second {
				t.Errorf("%s: %v left, want %v", name, left, c.want)
			}
			return &response{}, nil
		})
		cancel()
		if err != nil {
			t.Error(err)
		}
	}
	_, err := f.do(t.Context(), call(), func(context.Context, *request) (*response, error) { return nil, context.DeadlineExceeded })
	if reason(err) != fault.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
}

// hold begins a call that ends when the test releases it.
func (f *fixture) hold(t *testing.T, c *policy.Call) (release func() error) {
	t.Helper()
	begun, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := f.do(context.Background(), c, func(context.Context, *request) (*response, error) {
			close(begun)
			<-end
			return &response{}, nil
		})
		done <- err
	}()
	<-begun
	return func() error {
		close(end)
		return <-done
	}
}

func TestAFullServiceRefusesOrWaits(t *testing.T) {
	f := newFixture(policy.Limits{MaxConcurrentCalls: 1, AdmissionWait: 5 * time.Second})
	release := f.hold(t, call())

	other := call()
	other.Procedure = "/plumbline.v1.RetrievalService/ScoreRetrieval"
	if _, err := f.do(t.Context(), other, good); err != nil {
		t.Errorf("another service: %v", err)
	}
	free := call()
	free.Free = true
	if _, err := f.do(t.Context(), free, good); err != nil {
		t.Errorf("a free rpc: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.do(ctx, call(), good); reason(err) != fault.Cancelled {
		t.Errorf("a caller that has gone: %v", err)
	}

	waited := make(chan error, 1)
	go func() {
		_, err := f.do(context.Background(), call(), good)
		waited <- err
	}()
	if err := release(); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("the call that waited: %v", err)
	}

	impatient := newFixture(policy.Limits{MaxConcurrentCalls: 1, AdmissionWait: time.Millisecond})
	release = impatient.hold(t, call())
	_, err := impatient.do(t.Context(), call(), good)
	if e := fault.From(err); e == nil || e.Reason != fault.Overloaded || e.RetryAfter <= 0 {
		t.Errorf("beyond the wait: %v", err)
	}
	const counted = `
		# HELP plumbline_rpc_refused_total Calls that the server refused to begin, by reason; UNREADABLE are requests that HTTP could not even read.
		# TYPE plumbline_rpc_refused_total counter
		plumbline_rpc_refused_total{reason="OVERLOADED"} 1
	`
	if err := testutil.GatherAndCompare(impatient.metrics.Registry, strings.NewReader(counted), "plumbline_rpc_refused_total"); err != nil {
		t.Error(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

// TestASlowSenderHoldsNoPlace has one call whose request does not arrive.
func TestASlowSenderHoldsNoPlace(t *testing.T) {
	f := newFixture(policy.Limits{MaxConcurrentCalls: 1})
	arrived, done := make(chan struct{}), make(chan error, 1)
	waiting := make(chan struct{})
	go func() {
		_, err := policy.Unary(context.Background(), f.Policy, call(), func(context.Context) (*request, error) {
			close(waiting)
			<-arrived
			return &request{}, nil
		}, good)
		done <- err
	}()
	<-waiting
	if _, err := f.do(t.Context(), call(), good); err != nil {
		t.Errorf("beside a slow sender: %v", err)
	}
	close(arrived)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNoMoreCallsRunThanThereArePlaces(t *testing.T) {
	const places = 3
	f := newFixture(policy.Limits{MaxConcurrentCalls: places, AdmissionWait: time.Minute})
	var running, most atomic.Int64
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			_, err := f.do(context.Background(), call(), func(context.Context, *request) (*response, error) {
				now := running.Add(1)
				defer running.Add(-1)
				for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
				}
				time.Sleep(time.Millisecond)
				return &response{}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if most.Load() > places {
		t.Errorf("%d calls ran at once", most.Load())
	}
}

// TestWhatCollectsHoldsAPlaceOfItsService refuses one more, and nothing of others.
func TestWhatCollectsHoldsAPlaceOfItsService(t *testing.T) {
	f := newFixture(policy.Limits{MaxConcurrentCalls: 1, MaxOpenStreams: 2})
	fit := func() *policy.Call {
		return &policy.Call{Procedure: "/plumbline.v1.CalibrationService/Fit", Protocol: "grpc"}
	}
	type begin = func() error
	err := f.Collect(t.Context(), fit(), func(_ context.Context, _ policy.Meter, begin begin) error {
		return begin()
	})
	if err != nil {
		t.Errorf("a place was not given back: %v", err)
	}
	err = f.Collect(t.Context(), fit(), func(_ context.Context, _ policy.Meter, first begin) error {
		return f.Collect(t.Context(), fit(), func(_ context.Context, _ policy.Meter, second begin) error {
			// An open stream alone takes none.
			if err := first(); err != nil {
				t.Error(err)
			}
			if _, err := f.do(t.Context(), call(), good); err != nil {
				t.Errorf("another service: %v", err)
			}
			return second()
		})
	})
	if reason(err) != fault.Overloaded {
		t.Errorf("got %v", err)
	}
}

func TestStreamsTakePlacesWithoutWaiting(t *testing.T) {
	f := newFixture(policy.Limits{MaxOpenStreams: 1})
	err := f.Open(t.Context(), call(), func(context.Context, policy.Meter) error {
		return f.Open(t.Context(), call(), func(context.Context, policy.Meter) error { return nil })
	})
	if reason(err) != fault.Overloaded {
		t.Errorf("got %v", err)
	}
	if err := f.Open(t.Context(), call(), func(context.Context, policy.Meter) error { return nil }); err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
}

// TestEachCallHasOneAccount, so that verifiers share themselves between requests
// and not between the items of one.
func TestEachCallHasOneAccount(t *testing.T) {
	f := newFixture(policy.Limits{})
	var accounts []*entail.Account
	note := func(ctx context.Context) { accounts = append(accounts, entail.AccountOf(ctx)) }
	for range 2 {
		if _, err := f.do(t.Context(), call(), func(ctx context.Context, r *request) (*response, error) {
			note(ctx)
			note(ctx)
			return good(ctx, r)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Open(t.Context(), call(), func(ctx context.Context, _ policy.Meter) error {
		note(ctx)
		note(ctx)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(accounts) != 6 || accounts[0] != accounts[1] || accounts[2] != accounts[3] || accounts[4] != accounts[5] {
		t.Error("a call has several accounts")
	}
	if accounts[0] == accounts[2] || accounts[2] == accounts[4] {
		t.Error("calls share an account")
	}
}

func TestDrainRefusesNewCallsAndWaitsForOld(t *testing.T) {
	f := newFixture(policy.Limits{})
	release := f.hold(t, call())
	idle := f.Drain()
	if _, err := f.do(t.Context(), call(), good); reason(err) != fault.Draining {
		t.Errorf("a new call: %v", err)
	}
	select {
	case <-idle:
		t.Error("idle with a call in flight")
	default:
	}
	if err := release(); err != nil {
		t.Errorf("the old call: %v", err)
	}
	<-idle
	<-f.Drain()
	<-newFixture(policy.Limits{}).Drain()
}

func TestFailuresOfReceivingAreTheCalls(t *testing.T) {
	f := newFixture(policy.Limits{})
	_, err := policy.Unary(t.Context(), f.Policy, call(), func(context.Context) (*request, error) {
		return nil, fault.New(fault.MessageMalformed, "no message")
	}, good)
	if reason(err) != fault.MessageMalformed {
		t.Errorf("got %v", err)
	}
}
