package remote

import (
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
)

// replies is a stream that has been received already.
type replies struct {
	grpc.ClientStream
	messages []*plumblinev1.VerifyResponse
}

func (r *replies) Send(*plumblinev1.VerifyRequest) error { return nil }

func (r *replies) Recv() (*plumblinev1.VerifyResponse, error) {
	if len(r.messages) == 0 {
		return nil, io.EOF
	}
	next := r.messages[0]
	r.messages = r.messages[1:]
	return next, nil
}

// FuzzReplies: whatever the other side sends, each pair of a call that succeeds
// has either an error or probabilities.
func FuzzReplies(f *testing.F) {
	result := func(id string, p float64) *plumblinev1.VerifyResult {
		return &plumblinev1.VerifyResult{
			Id: id, Status: plumblinev1.Status_STATUS_OK,
			Probabilities: &plumblinev1.ClassProbabilities{Entailment: p, Neutral: new(1 - p), Contradiction: new(0.0)},
		}
	}
	for _, seed := range []*plumblinev1.VerifyResponse{
		{Digest: "d", Results: []*plumblinev1.VerifyResult{result("0", 0.25), result("1", 1)}},
		{Digest: "d", Results: []*plumblinev1.VerifyResult{result("0", 0.25), {Id: "1", Status: plumblinev1.Status_STATUS_TOO_LONG}}},
		{Results: []*plumblinev1.VerifyResult{result("7", -1)}, Usage: &plumblinev1.VerifyUsage{Tokens: 1 << 63}},
	} {
		data, err := proto.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		message := new(plumblinev1.VerifyResponse)
		if proto.Unmarshal(data, message) != nil {
			return
		}
		described := entail.Description{Name: "n", Digest: "d", ThreeClass: true}
		c := newCall([]entail.Pair{{Hypothesis: "a"}, {Hypothesis: "b"}}, DefaultMaxMessageBytes, described)
		err := c.receive(&replies{messages: []*plumblinev1.VerifyResponse{message}}, func(string) (entail.Description, error) {
			return described, nil
		})
		if err != nil {
			return
		}
		for i, r := range c.batch.Results {
			sum := r.Scores.Entailment + r.Scores.Neutral + r.Scores.Contradiction
			if r.Err == nil && !(sum > 1-sumTolerance && sum < 1+sumTolerance && r.Scores.Entailment >= 0) {
				t.Errorf("pair %d has %+v", i, r)
			}
		}
		if u := c.batch.Usage; u.Tokens < 0 || u.Queue < 0 || u.Tokenization < 0 || u.Inference < 0 {
			t.Errorf("usage %+v", u)
		}
	})
}
