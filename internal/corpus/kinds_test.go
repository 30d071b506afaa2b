package corpus_test

import (
	"context"
	"fmt"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/service"
)

// call is one rpc on some surface.
type call func(context.Context, proto.Message) (proto.Message, error)

// kind is an rpc that cases are for.
type kind struct {
	// name is that of the file of cases.
	name string
	// procedure is the rpc's path.
	procedure string
	// command are the words of the command line that does the same; none if
	// there is no such command.
	command []string

	newRequest  func() proto.Message
	newResponse func() proto.Message
	here        func(*service.Service) call
	connect     func(client *http.Client, url string, options ...connect.ClientOption) call
}

func kinds() []kind {
	return []kind{
		define("retrieval", plumblinev1.RetrievalService_ScoreRetrieval_FullMethodName, (*service.Service).ScoreRetrieval, "score", "retrieval"),
		define("grounding", plumblinev1.GroundingService_ScoreGrounding_FullMethodName, (*service.Service).ScoreGrounding, "score", "grounding"),
		define("confidence", plumblinev1.ConfidenceService_ScoreConfidence_FullMethodName, (*service.Service).ScoreConfidence, "score", "confidence"),
		define("observe", plumblinev1.TelemetryService_Observe_FullMethodName, (*service.Service).Observe),
		define("gate", plumblinev1.GateService_Decide_FullMethodName, (*service.Service).Decide, "gate", "decide"),
	}
}

// kindOf finds a kind by its name.
func kindOf(name string) kind {
	for _, k := range kinds() {
		if k.name == name {
			return k
		}
	}
	panic("there is no kind " + name)
}

// messageOf is a pointer to a message of type M.
type messageOf[M any] interface {
	*M
	proto.Message
}

func define[Q, A any, Req messageOf[Q], Res messageOf[A]](name, procedure string, method func(*service.Service, context.Context, *Q) (*A, error), command ...string) kind {
	return kind{
		name:        name,
		procedure:   procedure,
		command:     command,
		newRequest:  func() proto.Message { return Req(new(Q)) },
		newResponse: func() proto.Message { return Res(new(A)) },
		here: func(s *service.Service) call {
			return func(ctx context.Context, request proto.Message) (proto.Message, error) {
				typed, ok := request.(Req)
				if !ok {
					return nil, fmt.Errorf("%T is no request of %s", request, procedure)
				}
				response, err := method(s, ctx, (*Q)(typed))
				return Res(response), err
			}
		},
		connect: func(client *http.Client, url string, options ...connect.ClientOption) call {
			rpc := connect.NewClient[Q, A](client, url+procedure, options...)
			return func(ctx context.Context, request proto.Message) (proto.Message, error) {
				typed, ok := request.(Req)
				if !ok {
					return nil, fmt.Errorf("%T is no request of %s", request, procedure)
				}
				response, err := rpc.CallUnary(ctx, connect.NewRequest((*Q)(typed)))
				if err != nil {
					return nil, err
				}
				return Res(response.Msg), nil
			}
		},
	}
}
