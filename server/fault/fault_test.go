package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
	"plumbline/server/fault"
)

func TestEveryReasonHasItsCode(t *testing.T) {
	for reason, want := range map[fault.Reason]codes.Code{
		fault.FieldInvalid:        codes.InvalidArgument,
		fault.MessageMalformed:    codes.InvalidArgument,
		fault.OutOfOrder:          codes.InvalidArgument,
		fault.TemplateInvalid:     codes.InvalidArgument,
		fault.PolicyNotFound:      codes.NotFound,
		fault.VerifierNotFound:    codes.NotFound,
		fault.MessageTooLarge:     codes.ResourceExhausted,
		fault.TooManyItems:        codes.ResourceExhausted,
		fault.Overloaded:          codes.ResourceExhausted,
		fault.Draining:            codes.Unavailable,
		fault.VerifierUnavailable: codes.Unavailable,
		fault.NotImplemented:      codes.Unimplemented,
		fault.DeadlineExceeded:    codes.DeadlineExceeded,
		fault.Cancelled:           codes.Canceled,
		fault.Internal:            codes.Internal,
		"SOMETHING_ELSE":          codes.Internal,
	} {
		if got := reason.Code(); got != want {
			t.Errorf("%s has the code %s, want %s", reason, got, want)
		}
	}
}

func TestFromKnowsWhereErrorsComeFrom(t *testing.T) {
	broken := protovalidate.Validate(&plumblinev1.GetPolicyRequest{})
	for name, c := range map[string]struct {
		err  error
		want fault.Reason
	}{
		"ours":         {fmt.Errorf("wrapped: %w", fault.New(fault.Overloaded, "full")), fault.Overloaded},
		"a rule":       {broken, fault.FieldInvalid},
		"unavailable":  {score.Unavailable("down"), fault.VerifierUnavailable},
		"late":         {score.Reason(context.DeadlineExceeded), fault.DeadlineExceeded},
		"not there":    {score.NotImplemented("later"), fault.NotImplemented},
		"a bad option": {score.InvalidInput("bad"), fault.FieldInvalid},
		"a deadline":   {fmt.Errorf("wrapped: %w", context.DeadlineExceeded), fault.DeadlineExceeded},
		"a client":     {context.Canceled, fault.Cancelled},
		"the unknown":  {io.ErrClosedPipe, fault.Internal},
	} {
		if got := fault.From(c.err); got == nil || got.Reason != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
	if fault.From(nil) != nil {
		t.Error("no error is a fault")
	}
}

func TestTheCauseStaysPrivate(t *testing.T) {
	secret := errors.New("secret")
	e := fault.From(secret)
	if !errors.Is(e, secret) || !strings.Contains(e.Error(), "secret") {
		t.Errorf("the log does not see the cause: %v", e)
	}
	for _, detail := range e.Details() {
		if strings.Contains(fmt.Sprint(detail), "secret") {
			t.Errorf("a detail has the cause: %v", detail)
		}
	}
	if item := fault.Item(secret); strings.Contains(item.String(), "secret") || item.GetCode() != "INTERNAL" {
		t.Errorf("the item has the cause: %v", item)
	}
}

func TestDetails(t *testing.T) {
	e := fault.From(protovalidate.Validate(&plumblinev1.ScoreRetrievalRequest{K: 1_000_000}))
	if e.Message != "rankings: must contain at least 1 item(s) (and 1 more)" {
		t.Errorf("message %q", e.Message)
	}
	e.RetryAfter = time.Second
	var seen []string
	for _, detail := range e.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			seen = append(seen, d.GetDomain()+" "+d.GetReason())
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				seen = append(seen, v.GetField()+" "+v.GetReason())
			}
		case *errdetails.RetryInfo:
			seen = append(seen, d.GetRetryDelay().AsDuration().String())
		}
	}
	if got := strings.Join(seen, ", "); got != "plumbline.v1 FIELD_INVALID, rankings FIELD_INVALID, k FIELD_INVALID, 1s" {
		t.Errorf("details: %s", got)
	}
	if item := fault.Item(e); item.GetField() != "rankings" || item.GetReason() != "FIELD_INVALID" {
		t.Errorf("item %v", item)
	}
}

func TestUnderPutsFieldsBelowAnother(t *testing.T) {
	inner := fault.Field(fault.VerifierNotFound, "verifier", "no such name")
	outer := inner.Under("grounding")
	if outer.Message != "grounding.verifier: no such name" || outer.Violations[0].Field != "grounding.verifier" || outer.Reason != inner.Reason {
		t.Errorf("got %v", outer)
	}
	if inner.Violations[0].Field != "verifier" {
		t.Errorf("the inner error has changed: %v", inner)
	}
	if plain := fault.New(fault.Overloaded, "full"); plain.Under("grounding").Message != "full" {
		t.Errorf("got %v", plain.Under("grounding"))
	}
}

func TestGuardTurnsPanicsIntoErrors(t *testing.T) {
	err := fault.Guard(func() error { panic("a defect") })
	if e := fault.From(err); e.Reason != fault.Internal || !strings.Contains(e.Error(), "a defect") || strings.Contains(e.Message, "defect") {
		t.Errorf("got %v", err)
	}
	want := errors.New("plain")
	if err := fault.Guard(func() error { return want }); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	if err := fault.Guard(func() error { return nil }); err != nil {
		t.Errorf("got %v", err)
	}
}
