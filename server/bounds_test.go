package server_test

import (
	"bytes"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/proto/plumbline/v1/plumblinev1connect"
	"plumbline/server"
)

// hollow is a request for grounding with n empty passages, two bytes each.
func hollow(n int) []byte {
	empty := protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), nil)
	return bytes.Repeat(empty, n)
}

// within is a message whose field 1 is the given one.
func within(message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), message)
}

// inParts is hollow in a stream's message, as parts that are merged.
func inParts(n, parts int) []byte { return bytes.Repeat(within(hollow(n/parts)), parts) }

// TestAMillionEmptyPassagesAreRefusedBeforeTheyAreDecoded sends few megabytes
// that would be hundreds once decoded.
func TestAMillionEmptyPassagesAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	const many = 1_000_000
	const most = 16<<20 + 1<<20 // for the server, and for the client, which shares the process
	r := run(t, settings(), server.Options{Engine: overlap()})
	r.awaitReady()
	conn := r.dial(r.GRPCAddr())
	batch, stream := plumblinev1connect.GroundingServiceBatchScoreGroundingProcedure, plumblinev1connect.GroundingServiceStreamScoreGroundingProcedure
	const words = ": must contain no more than 10000 item(s)"
	hollowJSON := `{"evidence":[{}` + strings.Repeat(",{}", many-1) + `]}`

	for _, c := range []struct {
		name, procedure, field string
		message                []byte
	}{
		{"one request", scoreGrounding, "evidence", hollow(many)},
		{"a batch", batch, "requests[1].evidence", append(within(nil), within(hollow(many))...)},
		{"a stream", stream, "start.evidence", within(hollow(many))},
		{"a stream's request in parts", stream, "start.evidence", inParts(many, 1000)},
	} {
		t.Run("grpc: "+c.name, func(t *testing.T) {
			var err error
			used := allocatedBy(func() {
				err = conn.Invoke(t.Context(), c.procedure, &rawMessage{c.message}, new(plumblinev1.ScoreGroundingResponse), rawCodec())
			})
			f := failureOf(t, err)
			if f.code != codes.InvalidArgument || f.reason() != "FIELD_INVALID" || !strings.Contains(f.String(), c.field+words) || used > most {
				t.Errorf("got %v and %d bytes allocated", f, used)
			}
		})
	}
	for _, c := range []struct {
		name, procedure, contentType, field string
		body                                []byte
	}{
		{"one request", scoreGrounding, "application/proto", "evidence", hollow(many)},
		{"a batch", batch, "application/proto", "requests[0].evidence", within(hollow(many))},
		{"JSON", scoreGrounding, "application/json", "evidence", []byte(hollowJSON)},
		{"a batch in JSON", batch, "application/json", "requests[1].evidence", []byte(`{"requests":[{},` + hollowJSON + `]}`)},
	} {
		t.Run("http: "+c.name, func(t *testing.T) {
			var code int
			var body string
			used := allocatedBy(func() { code, body = r.post(c.procedure, c.contentType, c.body) })
			if code != http.StatusBadRequest || !strings.Contains(body, "invalid_argument") || !strings.Contains(body, c.field+words) || used > most {
				t.Errorf("got %d %s and %d bytes allocated", code, body, used)
			}
		})
	}
}

// allocatedBy is how many bytes were allocated meanwhile, client and server.
func allocatedBy(send func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	send()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// passages is a request with n passages that are right.
func passages(n int) *plumblinev1.ScoreGroundingRequest {
	req := groundingRequest("Paris is in France.")
	for len(req.Evidence) < n {
		req.Evidence = append(req.Evidence, &plumblinev1.Evidence{Id: "passage " + strconv.Itoa(len(req.Evidence)), Text: "Rain falls."})
	}
	return req
}

func TestAsManyPassagesAsAllowedAreScored(t *testing.T) {
	r := run(t, settings(), server.Options{Engine: overlap()})
	for _, c := range everywhere[plumblinev1.ScoreGroundingRequest, plumblinev1.ScoreGroundingResponse](r, scoreGrounding) {
		if res, err := c.call(t.Context(), passages(10_000)); err != nil || res.GetStatus() != plumblinev1.Status_STATUS_OK {
			t.Errorf("%s: at the bound: %v, %v", c.name, res.GetStatus(), err)
		}
		_, err := c.call(t.Context(), passages(10_001))
		f := failureOf(t, err)
		if f.code != codes.InvalidArgument || f.reason() != "FIELD_INVALID" || !strings.Contains(f.String(), "evidence: must contain no more than 10000 item(s)") {
			t.Errorf("%s: beyond the bound: %v", c.name, f)
		}
	}
}

// TestAnItemOfABatchThatIsTooLongHasItsOwnError, as long as it is not far too
// long: the other items are scored.
func TestAnItemOfABatchThatIsTooLongHasItsOwnError(t *testing.T) {
	r := run(t, settings(), server.Options{Engine: overlap()})
	client := plumblinev1.NewGroundingServiceClient(r.dial(r.GRPCAddr()))
	res, err := client.BatchScoreGrounding(t.Context(), &plumblinev1.BatchScoreGroundingRequest{
		Requests: []*plumblinev1.ScoreGroundingRequest{passages(10_001), groundingRequest("Paris is in France.")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if results := res.GetResults(); results[0].GetError().GetCode() == "" || results[1].GetResponse() == nil {
		t.Errorf("got %v", results)
	}
}
