// Package rpc asks servers that speak other people's protocols over gRPC.
package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"plumbline/scorers/entail"
	"plumbline/verifiers/internal/deadline"
)

// Transports are the schemes that Dial knows.
const (
	Plain = "grpc"
	TLS   = "grpcs"
)

// maxReplyBytes bounds a reply after decompression.
const maxReplyBytes = 8 << 20

// maxExplanation bounds, in bytes, what is passed on of a server's words.
const maxExplanation = 300

// Dial prepares the connection to a server. It does not wait: a server that
// does not answer fails the calls. The key, if there is one, is sent as a bearer
// token; timeout bounds one call.
func Dial(server *url.URL, key string, timeout time.Duration) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if server.Scheme == TLS {
		transport = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDisableServiceConfig(), // nobody who owns a DNS zone sets policy here
		grpc.WithUserAgent("plumbline"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReplyBytes)),
		grpc.WithUnaryInterceptor(bounded(timeout)),
	}
	if key != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(key)))
	}
	conn, err := grpc.NewClient("dns:///"+server.Host, options...)
	if err != nil {
		return nil, fmt.Errorf("verifier address: %w", err)
	}
	return conn, nil
}

// bearer is an API key.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Whoever
// writes grpc:// has a network on which that is right.
func (bearer) RequireTransportSecurity() bool { return false }

// bounded gives each call its time and maps its failure.
func bounded(timeout time.Duration) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, in, out any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
		within, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		var header metadata.MD
		err := call(within, method, in, out, conn, append(options, grpc.Header(&header))...)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		s := status.Convert(err)
		if deadline.Ends(s.Code()) {
			if own := deadline.Passing(ctx); own != nil {
				return own
			}
		}
		// A server that refuses a request sends no header before the status: where
		// there is one, it was the reply that was found too large, and here.
		if aboutSize(s) && header.Len() > 0 {
			return fmt.Errorf("%w: it is larger than %d bytes", entail.ErrBadReply, maxReplyBytes)
		}
		return failure(s)
	}
}

// StatusError is the cause of the error of a call that did not end well.
type StatusError struct {
	// Code is the gRPC status.
	Code codes.Code
	// Message is the server's, to be looked at and never to be shown where texts
	// were sent: servers repeat what they were asked.
	Message string
}

// Error implements error.
func (e *StatusError) Error() string { return "gRPC status " + e.Code.String() }

// Explain adds the server's own words to the error of a call that carried no
// text of a pair.
func Explain(err error) error {
	cause, ok := errors.AsType[*StatusError](err)
	if !ok || cause.Message == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.ToValidUTF8(cause.Message[:min(len(cause.Message), maxExplanation)], ""))
}

// TooLarge says whether the server refused a request for its size.
func TooLarge(err error) bool {
	cause, ok := errors.AsType[*StatusError](err)
	return ok && aboutSize(status.New(cause.Code, cause.Message))
}

// aboutSize knows the words of gRPC's libraries: in Go and C++ "larger than max",
// in Rust "message length too large", in Java "exceeds maximum".
func aboutSize(s *status.Status) bool {
	return (s.Code() == codes.ResourceExhausted || s.Code() == codes.OutOfRange) && sizeWords.MatchString(s.Message())
}

var sizeWords = regexp.MustCompile(`larger than max|length too large|exceeds maximum`)

// failure maps a status to the errors that verifiers share: around a
// *StatusError, and in an *entail.RetryAfter where the server has said when.
func failure(s *status.Status) error {
	err := fmt.Errorf("%w: %w", meaning(s.Code()), &StatusError{Code: s.Code(), Message: s.Message()})
	for _, detail := range s.Details() {
		if retry, ok := detail.(*errdetails.RetryInfo); ok && retry.GetRetryDelay().AsDuration() > 0 {
			return &entail.RetryAfter{After: retry.GetRetryDelay().AsDuration(), Err: err}
		}
	}
	return err
}

// meaning maps a code to the errors that verifiers share. Model servers give
// INTERNAL and UNKNOWN where others give HTTP's 500, for what a model threw.
func meaning(code codes.Code) error {
	switch code {
	case codes.Unavailable, codes.Internal, codes.Unknown, codes.Aborted, codes.DeadlineExceeded, codes.Canceled:
		return entail.ErrUnavailable
	case codes.ResourceExhausted:
		return entail.ErrBusy
	case codes.DataLoss:
		return entail.ErrBadReply
	default:
		return entail.ErrRejected
	}
}
