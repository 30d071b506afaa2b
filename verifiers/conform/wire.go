package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
)

const (
	// maxPairs is the schema's limit of pairs in a message.
	maxPairs = 10_000
	// maxID is the schema's limit of an id, in characters.
	maxID = 1024
	// hugeMessage is more than a server takes that was told nothing else.
	hugeMessage = 32 << 20
)

// request has pairs whose ids are a prefix and their index.
func request(prefix string, pairs ...entail.Pair) *plumblinev1.VerifyRequest {
	message := &plumblinev1.VerifyRequest{}
	for i, pair := range pairs {
		message.Pairs = append(message.Pairs, &plumblinev1.VerifyPair{Id: prefix + strconv.Itoa(i), Premise: pair.Premise, Hypothesis: pair.Hypothesis})
	}
	return message
}

// withIDs has one easy pair under each id.
func withIDs(ids ...string) *plumblinev1.VerifyRequest {
	message := &plumblinev1.VerifyRequest{}
	for _, id := range ids {
		message.Pairs = append(message.Pairs, &plumblinev1.VerifyPair{Id: id, Premise: premises[0], Hypothesis: premises[0]})
	}
	return message
}

// echoesIDs sends ids of all kinds, in several messages.
func echoesIDs(ctx context.Context, s *subject) error {
	messages := [][]string{
		{"2", "10", "1"},
		{"007", "7", " 7 ", "7.0"},
		{"claim/1#chunk:3", "a b", "Ünïcødé", "橋", "🌉", "line\nend", "\x00"},
		{strings.Repeat("x", maxID), strings.Repeat("橋", maxID)},
	}
	var requests []*plumblinev1.VerifyRequest
	for _, ids := range messages {
		requests = append(requests, withIDs(ids...))
	}
	responses, err := s.exchange(ctx, requests...)
	if err != nil {
		return err
	}
	sent := slices.Concat(messages...)
	count := make(map[string]int)
	for result := range results(responses) {
		id := result.GetId()
		count[id]++
		if count[id] > 1 {
			return fmt.Errorf("the id %.80q has more than one result", id)
		}
		if !slices.Contains(sent, id) {
			return fmt.Errorf("a result has the id %.80q, which was not sent", id)
		}
	}
	for _, id := range sent {
		if count[id] == 0 {
			return fmt.Errorf("the stream ended and the id %.80q has no result", id)
		}
	}
	return nil
}

func refusesBadIDs(ctx context.Context, s *subject) error {
	for what, bad := range map[string]*plumblinev1.VerifyRequest{
		"an empty id":              withIDs(""),
		"an id twice":              withIDs("a", "b", "a"),
		"an id of 1025 characters": withIDs(strings.Repeat("x", maxID+1)),
	} {
		_, err := s.exchange(ctx, bad)
		if err := wantCode(ctx, err, codes.InvalidArgument); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// wantCode says how err is not one of the codes.
func wantCode(ctx context.Context, err error, allowed ...codes.Code) error {
	switch {
	case err == nil:
		return errors.New("it is accepted")
	case ctx.Err() != nil:
		return err
	case slices.Contains(allowed, status.Code(err)):
		return nil
	default:
		return fmt.Errorf("the error is %w", err)
	}
}

// answersEarly waits for the results of a message before it sends the next.
func answersEarly(ctx context.Context, s *subject) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.client().Verify(ctx)
	if err != nil {
		return err
	}
	for round := range 3 {
		prefix := fmt.Sprintf("round %d pair ", round)
		if err := stream.Send(request(prefix, pairs()[:2]...)); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for open := 2; open > 0; {
			response, err := stream.Recv()
			if err != nil {
				return fmt.Errorf("waiting for the results of message %d of an open stream: %w", round, err)
			}
			open -= len(response.GetResults())
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the end of the stream: %w", err)
		}
	}
}

func acceptsNothing(ctx context.Context, s *subject) error {
	for what, requests := range map[string][]*plumblinev1.VerifyRequest{
		"a call without messages":   nil,
		"a message without pairs":   {{}},
		"an empty message and pair": {{}, request("", pairs()[0]), {}},
	} {
		if _, err := s.exchange(ctx, requests...); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

func limitsPairs(ctx context.Context, s *subject) error {
	many := make([]entail.Pair, maxPairs+1)
	for i := range many {
		many[i] = entail.Pair{Premise: "a", Hypothesis: "b"}
	}
	_, err := s.exchange(ctx, request("", many...))
	if err := wantCode(ctx, err, codes.InvalidArgument, codes.ResourceExhausted); err != nil {
		return fmt.Errorf("%d pairs: %w", len(many), err)
	}
	return s.works(ctx)
}

// limitsMessages takes an answer as well: the verifier's limit may be higher.
func limitsMessages(ctx context.Context, s *subject) error {
	_, err := s.exchange(ctx, request("", entail.Pair{Premise: strings.Repeat("x", hugeMessage), Hypothesis: "y"}))
	if err != nil {
		if err := wantCode(ctx, err, codes.ResourceExhausted); err != nil {
			return fmt.Errorf("%d bytes: %w", hugeMessage, err)
		}
	}
	return s.works(ctx)
}
