package tei

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	teiv1 "plumbline/verifiers/protocols/tei/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a TEI server with a classifier, written from TEI's published API. It
// says entailment with .8 if the premise contains the hypothesis, and neutral
// with .8 otherwise; a text of more than maxWords words is too long. A test
// replaces what it needs.
type fake struct {
	labels []string // of entailment, neutral, contradiction or entailment, not_entailment
	model  string
	sha    string
	kind   string // of model
	batch  int
	// intercept may answer a request over HTTP, and fail one over gRPC.
	intercept func(w http.ResponseWriter, r *http.Request) bool
	fail      func() error

	mu       sync.Mutex
	requests []predictRequest
	keys     []string
}

const maxWords = 20

func newFake() *fake {
	return &fake{
		labels: []string{"entailment", "neutral", "contradiction"},
		model:  "org/nli", sha: "0123abcd", kind: "classifier", batch: 4,
	}
}

// probabilities are in the order of labels.
func (f *fake) probabilities(premise, hypothesis string) []float64 {
	p := []float64{.1, .8, .1}
	if len(f.labels) == 2 {
		p = []float64{.2, .8}
	}
	if strings.Contains(premise, hypothesis) {
		p[0], p[1] = .8, p[0]
	}
	return p
}

type class struct {
	Score float64 `json:"score"`
	Label string  `json:"label"`
}

// predict lists the classes as TEI does, the likeliest first.
func (f *fake) predict(premise, hypothesis string) (all []class, tooLong bool) {
	for i, p := range f.probabilities(premise, hypothesis) {
		all = append(all, class{p, f.labels[i]})
	}
	slices.SortStableFunc(all, func(a, b class) int { return int(1000 * (b.Score - a.Score)) })
	return all, len(strings.Fields(premise))+len(strings.Fields(hypothesis)) > maxWords
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.keys = append(f.keys, r.Header.Get("Authorization"))
	f.mu.Unlock()
	if f.intercept != nil && f.intercept(w, r) {
		return
	}
	if r.URL.Path == "/info" {
		fmt.Fprintf(w, `{"model_id":%q,"model_sha":%q,"model_dtype":"float32","model_type":{%q:{"id2label":{},"label2id":{}}},"max_input_length":512,"max_client_batch_size":%d,"auto_truncate":true,"version":"1.9.3"}`,
			f.model, f.sha, f.kind, f.batch)
		return
	}
	request := predictRequest{Truncate: true}
	if r.URL.Path != "/predict" || json.NewDecoder(r.Body).Decode(&request) != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	f.mu.Lock()
	f.requests = append(f.requests, request)
	f.mu.Unlock()
	refuse := func(code int, kind, message string) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": message, "error_type": kind})
	}
	if len(request.Inputs) > f.batch {
		refuse(422, "Validation", fmt.Sprintf("batch size %d > maximum allowed batch size %d", len(request.Inputs), f.batch))
		return
	}
	var all [][]class
	for _, pair := range request.Inputs {
		classes, tooLong := f.predict(pair[0], pair[1])
		if tooLong && !request.Truncate {
			refuse(422, "Validation", fmt.Sprintf("`inputs` must have less than %d tokens. Given: 99", maxWords))
			return
		}
		if strings.Contains(pair[0], "poison") {
			refuse(422, "Tokenizer", "tokenizer error: "+pair[0])
			return
		}
		all = append(all, classes)
	}
	w.Header().Set("x-compute-tokens", fmt.Sprint(10*len(all)))
	w.Header().Set("x-tokenization-time", "1")
	w.Header().Set("x-queue-time", "2")
	w.Header().Set("x-inference-time", "3")
	_ = json.NewEncoder(w).Encode(all)
}

// overGRPC is the fake's other API.
type grpcFake struct {
	teiv1.UnimplementedInfoServer
	teiv1.UnimplementedPredictServer
	*fake
}

func (g grpcFake) Info(context.Context, *teiv1.InfoRequest) (*teiv1.InfoResponse, error) {
	kind := teiv1.ModelType_MODEL_TYPE_EMBEDDING
	if g.kind == "classifier" {
		kind = teiv1.ModelType_MODEL_TYPE_CLASSIFIER
	}
	return &teiv1.InfoResponse{ModelId: g.model, ModelSha: &g.sha, ModelType: kind, MaxInputLength: 512, MaxClientBatchSize: 4}, nil
}

func (g grpcFake) PredictPair(ctx context.Context, r *teiv1.PredictPairRequest) (*teiv1.PredictResponse, error) {
	if g.fail != nil {
		if err := g.fail(); err != nil {
			return nil, err
		}
	}
	md, _ := metadata.FromIncomingContext(ctx)
	g.mu.Lock()
	g.keys = append(g.keys, strings.Join(md.Get("authorization"), ","))
	g.mu.Unlock()
	if len(r.GetInputs()) != 2 || r.GetRawScores() {
		return nil, status.Error(codes.InvalidArgument, "`inputs` must have a single or two elements")
	}
	classes, tooLong := g.predict(r.GetInputs()[0], r.GetInputs()[1])
	switch {
	case tooLong && !r.GetTruncate():
		return nil, status.Errorf(codes.InvalidArgument, "`inputs` must have less than %d tokens. Given: 99", maxWords)
	case strings.Contains(r.GetInputs()[0], "poison"):
		return nil, status.Error(codes.InvalidArgument, "refused: "+r.GetInputs()[0])
	}
	m := &teiv1.PredictResponse{Metadata: &teiv1.Metadata{ComputeTokens: 10, TokenizationTimeNs: 1e6, QueueTimeNs: 2e6, InferenceTimeNs: 3e6}}
	for _, c := range classes {
		m.Predictions = append(m.Predictions, &teiv1.Prediction{Score: float32(c.Score), Label: c.Label})
	}
	return m, nil
}

// serve starts the fake on one of the transports and returns its address.
func (f *fake) serve(t testing.TB, transport string) string {
	t.Helper()
	if transport == "http" {
		server := httptest.NewServer(f)
		t.Cleanup(server.Close)
		return "tei:" + server.URL
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	teiv1.RegisterInfoServer(server, grpcFake{fake: f})
	teiv1.RegisterPredictServer(server, grpcFake{fake: f})
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "tei:grpc://" + listener.Addr().String()
}

func open(t testing.TB, address string) *Verifier {
	t.Helper()
	config, err := Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}
