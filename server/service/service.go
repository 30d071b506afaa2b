// Package service implements every rpc of plumbline.v1 without a transport:
// unary rpcs are (ctx, request) → (response, error), streams go over the small
// interface Stream. The gRPC listener, the HTTP listener and the command line
// in process share one Service, and so give equal answers.
//
// Every message is validated here, against the rules of the schema and then by
// the scorers, so that no transport can forget to. The request of a unary rpc is
// only read; a frame of a stream belongs to the Service once it is received.
// Errors are those of package fault.
package service

import (
	"context"
	"log/slog"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/gate"
	"plumbline/scorers/grounding"
	"plumbline/scorers/telemetry"
	"plumbline/server/fault"
)

// Deps are what a Service stands on. The zero value of a field is allowed
// where its comment says so.
type Deps struct {
	// Version and Commit are the program's; GetInfo tells them.
	Version, Commit string
	// Verifiers are those that requests may name; the first is asked by requests
	// that name none. Without any, values that need one have
	// STATUS_VERIFIER_UNAVAILABLE.
	Verifiers []Verifier
	// Gates gives the policies in force, which may change between calls;
	// required.
	Gates func() *gate.Set
	// Subgoals is what Observe keeps between turns; nil keeps nothing.
	Subgoals *telemetry.Store
	// FailMode is in force where neither a request nor its verifier has one;
	// unspecified means closed.
	FailMode plumblinev1.FailMode
	// MaxRecords bounds the records that one calibration call holds; 0 means no
	// bound, which is for trusted callers in process.
	MaxRecords int
	// Services are the full names of the services that are served; GetInfo
	// tells. Nil means all.
	Services []string
	// Limits are told by GetInfo; nil where no transport bounds messages.
	Limits *plumblinev1.Limits
	// Log takes the causes of internal errors of single items; nil drops them.
	Log *slog.Logger
}

// Service implements the rpcs. It is safe for concurrent use.
type Service struct {
	deps      Deps
	validator protovalidate.Validator
	grounding *grounding.Scorer
}

// New returns a Service.
func New(deps Deps) (*Service, error) {
	validator, err := protovalidate.New()
	if err != nil {
		return nil, err
	}
	scorer, err := grounding.New()
	if err != nil {
		return nil, err
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.FailMode == plumblinev1.FailMode_FAIL_MODE_UNSPECIFIED {
		deps.FailMode = plumblinev1.FailMode_FAIL_MODE_CLOSED
	}
	return &Service{deps: deps, validator: validator, grounding: scorer}, nil
}

// validate checks a message against the rules of the schema.
func (s *Service) validate(message proto.Message) error {
	if err := s.validator.Validate(message); err != nil {
		return fault.From(err)
	}
	return nil
}

// item is the ItemError of an item that failed alone. The cause of a defect
// goes to the log, because no transport sees it.
func (s *Service) item(ctx context.Context, err error) *plumblinev1.ItemError {
	if e := fault.From(err); e.Reason == fault.Internal {
		s.deps.Log.ErrorContext(ctx, "item failed", "error", e.Error())
	}
	return fault.Item(err)
}

// withTotal sets the total of a timing that a scorer may have begun.
func withTotal(timing *plumblinev1.Timing, start time.Time) *plumblinev1.Timing {
	if timing == nil {
		timing = &plumblinev1.Timing{}
	}
	timing.Total = durationpb.New(time.Since(start))
	return timing
}

// shallow copies a message without what it points to, so that a field of its
// own can be set: a caller in process may share one request among calls.
func shallow[M proto.Message](m M) M {
	copied := m.ProtoReflect().New()
	m.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		copied.Set(field, value)
		return true
	})
	return copied.Interface().(M)
}
