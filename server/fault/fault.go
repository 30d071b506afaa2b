// Package fault is how the server fails: one error type that keeps what the
// client may read apart from what only the log may, and one table from reasons
// to status codes. Native gRPC, Connect, gRPC-Web and JSON all render it from
// here, so that a client sees the same code, message and details everywhere.
package fault

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc/codes"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// Reason is the machine-readable cause of a failure. Reasons are part of the
// interface: clients branch on them, and they do not change.
type Reason string

// The reasons.
const (
	// FieldInvalid: a field of the request breaks a rule of the schema.
	FieldInvalid Reason = "FIELD_INVALID"
	// MessageMalformed: the bytes are no message of the expected type, or the
	// JSON has an unknown field.
	MessageMalformed Reason = "MESSAGE_MALFORMED"
	// MessageTooLarge: the message is larger than the server receives.
	MessageTooLarge Reason = "MESSAGE_TOO_LARGE"
	// TooManyItems: the call brings more items than the server holds.
	TooManyItems Reason = "TOO_MANY_ITEMS"
	// OutOfOrder: a message of a stream came where it may not.
	OutOfOrder Reason = "OUT_OF_ORDER"
	// PolicyNotFound: no policy has the name.
	PolicyNotFound Reason = "POLICY_NOT_FOUND"
	// VerifierNotFound: no verifier has the name.
	VerifierNotFound Reason = "VERIFIER_NOT_FOUND"
	// TemplateInvalid: the prompt template is unknown or does not work.
	TemplateInvalid Reason = "TEMPLATE_INVALID"
	// Overloaded: no place was free in time; retry after the stated delay.
	Overloaded Reason = "OVERLOADED"
	// Draining: the server is shutting down; retry elsewhere.
	Draining Reason = "DRAINING"
	// VerifierUnavailable: the verifier cannot be asked now.
	VerifierUnavailable Reason = "VERIFIER_UNAVAILABLE"
	// NotImplemented: the rpc is declared but has no implementation yet.
	NotImplemented Reason = "NOT_IMPLEMENTED"
	// DeadlineExceeded: the deadline passed.
	DeadlineExceeded Reason = "DEADLINE_EXCEEDED"
	// Cancelled: the client went away.
	Cancelled Reason = "CANCELLED"
	// Internal: a defect of the server; its log has the cause.
	Internal Reason = "INTERNAL"
)

// Code is the one table from reasons to gRPC status codes, which Connect
// shares.
func (r Reason) Code() codes.Code {
	switch r {
	case FieldInvalid, MessageMalformed, OutOfOrder, TemplateInvalid:
		return codes.InvalidArgument
	case PolicyNotFound, VerifierNotFound:
		return codes.NotFound
	case MessageTooLarge, TooManyItems, Overloaded:
		return codes.ResourceExhausted
	case Draining, VerifierUnavailable:
		return codes.Unavailable
	case NotImplemented:
		return codes.Unimplemented
	case DeadlineExceeded:
		return codes.DeadlineExceeded
	case Cancelled:
		return codes.Canceled
	default:
		return codes.Internal
	}
}

// Violation is one broken rule.
type Violation struct {
	// Field is the path of the field, such as "rankings[0].items[3].score";
	// empty when the rule is about the message as a whole.
	Field string
	// Description says what is wrong and what to do.
	Description string
}

// Error is a failure of a call.
type Error struct {
	// Reason decides the status code.
	Reason Reason
	// Message is what the client reads.
	Message string
	// Violations are the broken rules of FieldInvalid and its like.
	Violations []Violation
	// RetryAfter is when a retry makes sense; 0 means that the server does not
	// say.
	RetryAfter time.Duration

	cause error
}

// New returns an error with a public message.
func New(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Field returns the error of one field that a rule outside the schema refuses.
func Field(reason Reason, field, format string, args ...any) *Error {
	description := fmt.Sprintf(format, args...)
	return &Error{
		Reason:     reason,
		Message:    field + ": " + description,
		Violations: []Violation{{Field: field, Description: description}},
	}
}

// Under returns the error with its fields below a field of an outer message.
func (e *Error) Under(field string) *Error {
	if len(e.Violations) == 0 {
		return e
	}
	outer := *e
	outer.Violations = nil
	for _, v := range e.Violations {
		path := strings.TrimSuffix(field+"."+v.Field, ".")
		outer.Violations = append(outer.Violations, Violation{Field: path, Description: v.Description})
	}
	outer.Message = describe(outer.Violations)
	return &outer
}

// Because keeps the private cause, which only the log sees.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error implements error for the log; clients are sent Message alone.
func (e *Error) Error() string {
	if e.cause == nil {
		return string(e.Reason) + ": " + e.Message
	}
	return fmt.Sprintf("%s: %s: %v", e.Reason, e.Message, e.cause)
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// From makes any error an Error. What it does not know is Internal, with a
// message that gives nothing away.
func From(err error) *Error {
	var (
		known   *Error
		invalid *protovalidate.ValidationError
		missing *score.Missing
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &invalid):
		return fromValidation(invalid)
	case errors.As(err, &missing):
		return fromMissing(missing)
	case errors.Is(err, context.DeadlineExceeded):
		return New(DeadlineExceeded, "the deadline passed before the call was done").Because(err)
	case errors.Is(err, context.Canceled):
		return New(Cancelled, "the call was cancelled").Because(err)
	default:
		return New(Internal, "internal error; the server's log has the cause").Because(err)
	}
}

func fromValidation(invalid *protovalidate.ValidationError) *Error {
	e := &Error{Reason: FieldInvalid}
	for _, v := range invalid.Violations {
		e.Violations = append(e.Violations, Violation{
			Field:       protovalidate.FieldPathString(v.Proto.GetField()),
			Description: v.Proto.GetMessage(),
		})
	}
	e.Message = describe(e.Violations)
	return e
}

// describe is the message of violations: the first in full and how many more
// there are.
func describe(violations []Violation) string {
	if len(violations) == 0 {
		return "the request breaks a rule"
	}
	first := violations[0]
	text := first.Description
	if first.Field != "" {
		text = first.Field + ": " + text
	}
	if more := len(violations) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// fromMissing is the failure of a call whose scorer gave a typed reason in
// place of a response.
func fromMissing(missing *score.Missing) *Error {
	switch missing.Status {
	case plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE:
		return New(VerifierUnavailable, "%s", missing.Reason)
	case plumblinev1.Status_STATUS_DEADLINE:
		return New(DeadlineExceeded, "%s", missing.Reason)
	case plumblinev1.Status_STATUS_NOT_IMPLEMENTED:
		return New(NotImplemented, "%s", missing.Reason)
	default:
		return New(FieldInvalid, "%s", missing.Reason)
	}
}

// Guard runs f and makes a panic an Internal error that carries the stack, so
// that a defect fails one call and not the process. Every goroutine of a call
// runs under one.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = New(Internal, "internal error; the server's log has the cause").
				Because(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return f()
}
