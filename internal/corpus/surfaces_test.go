package corpus_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
	"plumbline/server/service"
)

// answer is what a surface made of a request: a response or a failure.
type answer struct {
	response proto.Message
	failure  *plumblinev1.ItemError
}

// surface is one way to ask the service.
type surface struct {
	name string
	// ask sends requests of one kind in order and returns an answer for each.
	// It reports false where the surface does not offer the kind.
	ask func(t *testing.T, k kind, requests []proto.Message) ([]answer, bool)
}

// oneByOne is a surface that takes one request at a time.
func oneByOne(name string, callOf func(kind) call, failure func(error) *plumblinev1.ItemError) surface {
	return surface{name: name, ask: func(t *testing.T, k kind, requests []proto.Message) ([]answer, bool) {
		t.Helper()
		ask := callOf(k)
		answers := make([]answer, len(requests))
		for i, request := range requests {
			response, err := ask(t.Context(), proto.Clone(request))
			if err != nil {
				answers[i].failure = failure(err)
			} else {
				answers[i].response = response
			}
		}
		return answers, true
	}}
}

func inProcess(s *service.Service) surface {
	return oneByOne("in process", func(k kind) call { return k.here(s) }, fault.Item)
}

// overGRPC asks by grpc-go, on whichever listener the connection leads to.
func overGRPC(name string, conn *grpc.ClientConn) surface {
	return oneByOne(name, func(k kind) call {
		return func(ctx context.Context, request proto.Message) (proto.Message, error) {
			response := k.newResponse()
			return response, conn.Invoke(ctx, k.procedure, request, response)
		}
	}, func(err error) *plumblinev1.ItemError {
		st := status.Convert(err)
		var details []proto.Message
		for _, detail := range st.Details() {
			if message, ok := detail.(proto.Message); ok {
				details = append(details, message)
			}
		}
		return item(st.Code(), st.Message(), details)
	})
}

func overConnect(name, url string, options ...connect.ClientOption) surface {
	return oneByOne(name, func(k kind) call { return k.connect(http.DefaultClient, url, options...) },
		func(err error) *plumblinev1.ItemError {
			var wire *connect.Error
			if !errors.As(err, &wire) {
				return &plumblinev1.ItemError{Message: err.Error()}
			}
			var details []proto.Message
			for _, detail := range wire.Details() {
				if message, err := detail.Value(); err == nil {
					details = append(details, message)
				}
			}
			return item(codes.Code(wire.Code()), wire.Message(), details)
		})
}

// overJSON posts JSON as curl would.
func overJSON(url string) surface {
	return oneByOne("JSON", func(k kind) call {
		return func(ctx context.Context, request proto.Message) (proto.Message, error) {
			return postJSON(ctx, url+k.procedure, request, k.newResponse())
		}
	}, func(err error) *plumblinev1.ItemError {
		var refused *jsonError
		if !errors.As(err, &refused) {
			return &plumblinev1.ItemError{Message: err.Error()}
		}
		return refused.item()
	})
}

func postJSON(ctx context.Context, url string, request, response proto.Message) (proto.Message, error) {
	body, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(request)
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	post.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(post)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return nil, err
	}
	if reply.StatusCode != http.StatusOK {
		refused := &jsonError{}
		if err := json.Unmarshal(text, refused); err != nil {
			return nil, fmt.Errorf("%s: %s", reply.Status, text)
		}
		return nil, refused
	}
	return response, protojson.Unmarshal(text, response)
}

// jsonError is the error of the Connect protocol.
type jsonError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details []struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"details"`
}

func (e *jsonError) Error() string { return e.Code + ": " + e.Message }

func (e *jsonError) item() *plumblinev1.ItemError {
	var details []proto.Message
	for _, detail := range e.Details {
		var message proto.Message
		switch detail.Type {
		case "google.rpc.ErrorInfo":
			message = &errdetails.ErrorInfo{}
		case "google.rpc.BadRequest":
			message = &errdetails.BadRequest{}
		default:
			continue
		}
		if raw, err := base64.RawStdEncoding.DecodeString(detail.Value); err == nil && proto.Unmarshal(raw, message) == nil {
			details = append(details, message)
		}
	}
	var wire connect.Code
	if err := wire.UnmarshalText([]byte(e.Code)); err != nil {
		return &plumblinev1.ItemError{Message: err.Error()}
	}
	return item(codes.Code(wire), e.Message, details)
}

// item is a failure off the wire as the item of a batch would have it.
func item(c codes.Code, message string, details []proto.Message) *plumblinev1.ItemError {
	failure := &plumblinev1.ItemError{Code: code.Code(c).String(), Message: message}
	for _, detail := range details {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			failure.Reason = detail.GetReason()
		case *errdetails.BadRequest:
			if violations := detail.GetFieldViolations(); len(violations) > 0 {
				failure.Field = violations[0].GetField()
			}
		}
	}
	return failure
}

// onCommandLine runs the built program with more arguments after the kind's
// own, and sends all requests through one pipe.
func onCommandLine(name, binary string, environment []string, arguments ...string) surface {
	return surface{name: name, ask: func(t *testing.T, k kind, requests []proto.Message) ([]answer, bool) {
		t.Helper()
		if len(k.command) == 0 {
			return nil, false
		}
		var input, output, errorOutput bytes.Buffer
		for _, request := range requests {
			line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			input.Write(append(line, '\n'))
		}
		command := exec.CommandContext(t.Context(), binary, slices.Concat(k.command, arguments)...)
		command.Env = environment
		command.Stdin, command.Stdout, command.Stderr = &input, &output, &errorOutput
		err := command.Run()
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatalf("%s: %v\n%s", command, err, errorOutput.String())
		}
		return readAnswers(t, k, output.String(), len(requests)), true
	}}
}

func readAnswers(t *testing.T, k kind, output string, count int) []answer {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	if len(lines) != count {
		t.Fatalf("%d lines for %d requests", len(lines), count)
	}
	answers := make([]answer, count)
	for i, line := range lines {
		var failed struct {
			Error *struct{ Code, Message, Field, Reason string }
		}
		if err := json.Unmarshal([]byte(line), &failed); err != nil {
			t.Fatal(err)
		}
		if e := failed.Error; e != nil {
			answers[i].failure = &plumblinev1.ItemError{Code: e.Code, Message: e.Message, Field: e.Field, Reason: e.Reason}
			continue
		}
		answers[i].response = k.newResponse()
		if err := protojson.Unmarshal([]byte(line), answers[i].response); err != nil {
			t.Fatal(err)
		}
	}
	return answers
}

// cleanEnvironment is this process's, less what would be taken for settings.
func cleanEnvironment(more ...string) []string {
	kept := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "PLUMBLINE_") })
	return append(kept, more...)
}
