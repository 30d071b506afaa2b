package remote

import (
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"plumbline/scorers/entail"
)

// Kind is a way to break the contract of VerifierService.
type Kind string

// The kinds.
const (
	// UnknownID: a result for a pair that was never sent.
	UnknownID Kind = "unknown_id"
	// DuplicateID: a second result for a pair.
	DuplicateID Kind = "duplicate_id"
	// MissingID: the stream ended well and a pair has no result.
	MissingID Kind = "missing_id"
	// BadProbability: a probability is NaN or outside [0, 1].
	BadProbability Kind = "bad_probability"
	// BadSum: the probabilities of three classes do not sum to 1.
	BadSum Kind = "bad_sum"
	// WrongClasses: a result has other classes than the description.
	WrongClasses Kind = "wrong_classes"
	// BadStatus: a status that is unknown or does not fit the rest of the result.
	BadStatus Kind = "bad_status"
	// DigestMissing: a description or a reply does not say which model it is of.
	DigestMissing Kind = "digest_missing"
	// DigestChanged: one call was answered by two models.
	DigestChanged Kind = "digest_changed"
	// DigestUnknown: a model answered that the verifier does not describe.
	DigestUnknown Kind = "digest_unknown"
	// BadDescription: the description makes no sense.
	BadDescription Kind = "bad_description"
	// WrongVersion: the verifier speaks another version of the contract.
	WrongVersion Kind = "wrong_version"
)

// ProtocolError is the error of a reply that breaks the contract. It is
// entail.ErrBadReply too.
type ProtocolError struct {
	// Kind is what was broken.
	Kind Kind
	// Detail says how, for the author of the verifier. It has no text of a pair.
	Detail string
}

// Error implements error.
func (e *ProtocolError) Error() string {
	return fmt.Sprintf("the verifier breaks its contract (%s): %s", e.Kind, e.Detail)
}

// Is makes a ProtocolError an entail.ErrBadReply.
func (e *ProtocolError) Is(target error) bool { return target == entail.ErrBadReply }

func violation(kind Kind, format string, args ...any) *ProtocolError {
	return &ProtocolError{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// classify maps the status of an rpc to the errors that verifiers share. Codes
// that a defect or garbage on the wire gives (UNKNOWN, INTERNAL, DATA_LOSS) are
// bad replies: the same call may well fare the same again.
func classify(err error) error {
	s := status.Convert(err)
	var shared error
	switch s.Code() {
	case codes.Unavailable, codes.Aborted, codes.DeadlineExceeded, codes.Canceled:
		// The caller's own deadline and cancellation were dealt with before.
		shared = entail.ErrUnavailable
	case codes.ResourceExhausted:
		shared = entail.ErrBusy
	case codes.Unknown, codes.Internal, codes.DataLoss:
		shared = entail.ErrBadReply
	default:
		shared = entail.ErrRejected
	}
	err = fmt.Errorf("%w: %w", shared, err)
	for _, detail := range s.Details() {
		if retry, ok := detail.(*errdetails.RetryInfo); ok && retry.GetRetryDelay().AsDuration() > 0 {
			return &entail.RetryAfter{After: retry.GetRetryDelay().AsDuration(), Err: err}
		}
	}
	return err
}
