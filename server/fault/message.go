package fault

import (
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// Domain is the ErrorInfo domain of every reason.
const Domain = "plumbline.v1"

// Details are the google.rpc details of the error: ErrorInfo always,
// BadRequest where fields are to blame, RetryInfo where a retry makes sense.
func (e *Error) Details() []proto.Message {
	details := []proto.Message{&errdetails.ErrorInfo{Reason: string(e.Reason), Domain: Domain}}
	if len(e.Violations) > 0 {
		bad := &errdetails.BadRequest{}
		for _, v := range e.Violations {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
				Field:       v.Field,
				Description: v.Description,
				Reason:      string(e.Reason),
			})
		}
		details = append(details, bad)
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	return details
}

// Status is the error as gRPC sends it.
func (e *Error) Status() *status.Status {
	s := status.New(e.Reason.Code(), e.Message)
	var details []protoadapt.MessageV1
	for _, d := range e.Details() {
		details = append(details, protoadapt.MessageV1Of(d))
	}
	if detailed, err := s.WithDetails(details...); err == nil {
		s = detailed
	}
	return s
}

// Item is the failure of one item of a batch or of a stream.
func Item(err error) *plumblinev1.ItemError {
	e := From(err)
	item := &plumblinev1.ItemError{Code: e.CodeName(), Message: e.Message, Reason: string(e.Reason)}
	if len(e.Violations) > 0 {
		item.Field = e.Violations[0].Field
	}
	return item
}

// CodeName is the name of the error's status code, such as
// "INVALID_ARGUMENT".
func (e *Error) CodeName() string { return code.Code(e.Reason.Code()).String() }
