package kserve

import (
	"context"
	"encoding/binary"
	"math"
	"net"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"plumbline/scorers/entail"
	"plumbline/verifiers/protocols/inference"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type outputTensor = inference.ModelInferResponse_InferOutputTensor

// fake is a server written from the published protocol. For texts it gives
// logits: 2 for entailment if the premise contains the hypothesis and -2
// otherwise, 0 for neutral, -1 for contradiction. A test replaces what it needs.
type fake struct {
	inference.UnimplementedGRPCInferenceServiceServer

	ready, modelReady bool
	version           string
	inputs, outputs   []*tensorSpec
	// logits are those of a pair; for token ids they are made of the ids alone.
	logits func(premise, hypothesis string) []float32
	// encode writes the rows into a reply; typed is the default.
	encode func(reply *inference.ModelInferResponse, rows [][]float32)
	// change may spoil a reply, and fail a request.
	change func(reply *inference.ModelInferResponse)
	fail   func(r *inference.ModelInferRequest) error

	mu       sync.Mutex
	requests []*inference.ModelInferRequest
	keys     []string
}

func newFake() *fake {
	return &fake{
		ready: true, modelReady: true, version: "1",
		inputs: []*tensorSpec{
			{Name: "premise", Datatype: "BYTES", Shape: []int64{-1}},
			{Name: "hypothesis", Datatype: "BYTES", Shape: []int64{-1}},
		},
		outputs: []*tensorSpec{{Name: "logits", Datatype: "FP32", Shape: []int64{-1, 3}}},
		logits: func(premise, hypothesis string) []float32 {
			if strings.Contains(premise, hypothesis) {
				return []float32{2, 0, -1}
			}
			return []float32{-2, 0, -1}
		},
		encode: typed,
	}
}

func (f *fake) ServerReady(context.Context, *inference.ServerReadyRequest) (*inference.ServerReadyResponse, error) {
	return &inference.ServerReadyResponse{Ready: f.ready}, nil
}

func (f *fake) ModelReady(_ context.Context, r *inference.ModelReadyRequest) (*inference.ModelReadyResponse, error) {
	return &inference.ModelReadyResponse{Ready: f.modelReady && r.GetName() == "nli"}, nil
}

func (f *fake) ModelMetadata(_ context.Context, r *inference.ModelMetadataRequest) (*inference.ModelMetadataResponse, error) {
	if r.GetName() != "nli" {
		return nil, status.Error(codes.NotFound, "unknown model")
	}
	return &inference.ModelMetadataResponse{Name: "nli", Versions: []string{f.version}, Inputs: f.inputs, Outputs: f.outputs}, nil
}

func (f *fake) ModelInfer(ctx context.Context, r *inference.ModelInferRequest) (*inference.ModelInferResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	f.mu.Lock()
	f.requests = append(f.requests, r)
	f.keys = append(f.keys, strings.Join(md.Get("authorization"), ","))
	f.mu.Unlock()
	if f.fail != nil {
		if err := f.fail(r); err != nil {
			return nil, err
		}
	}
	reply := &inference.ModelInferResponse{ModelName: r.GetModelName(), ModelVersion: f.version, Id: r.GetId()}
	f.encode(reply, f.rows(r))
	if f.change != nil {
		f.change(reply)
	}
	return reply, nil
}

func (f *fake) rows(r *inference.ModelInferRequest) [][]float32 {
	var rows [][]float32
	contents := map[string]*inference.InferTensorContents{}
	for _, input := range r.GetInputs() {
		contents[input.GetName()] = input.GetContents()
	}
	if texts := contents["premise"].GetBytesContents(); texts != nil {
		for i, premise := range texts {
			rows = append(rows, f.logits(string(premise), string(contents["hypothesis"].GetBytesContents()[i])))
		}
		return rows
	}
	for range r.GetInputs()[0].GetShape()[0] {
		rows = append(rows, f.logits("", ""))
	}
	return rows
}

func shape(rows [][]float32) []int64 { return []int64{int64(len(rows)), int64(len(rows[0]))} }

func flat(rows [][]float32) (all []float32) {
	for _, row := range rows {
		all = append(all, row...)
	}
	return all
}

func typed(reply *inference.ModelInferResponse, rows [][]float32) {
	reply.Outputs = []*outputTensor{{
		Name: "logits", Datatype: "FP32", Shape: shape(rows),
		Contents: &inference.InferTensorContents{Fp32Contents: flat(rows)},
	}}
}

func typed64(reply *inference.ModelInferResponse, rows [][]float32) {
	var values []float64
	for _, x := range flat(rows) {
		values = append(values, float64(x))
	}
	reply.Outputs = []*outputTensor{{
		Name: "logits", Datatype: "FP64", Shape: shape(rows),
		Contents: &inference.InferTensorContents{Fp64Contents: values},
	}}
}

// raw puts another tensor before the logits, as a model with several outputs may.
func raw(reply *inference.ModelInferResponse, rows [][]float32) {
	var b []byte
	for _, x := range flat(rows) {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	reply.Outputs = []*outputTensor{
		{Name: "other", Datatype: "INT64", Shape: []int64{1}},
		{Name: "logits", Datatype: "FP32", Shape: shape(rows)},
	}
	reply.RawOutputContents = [][]byte{make([]byte, 8), b}
}

func raw64(reply *inference.ModelInferResponse, rows [][]float32) {
	var b []byte
	for _, x := range flat(rows) {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(x)))
	}
	reply.Outputs = []*outputTensor{{Name: "logits", Datatype: "FP64", Shape: shape(rows)}}
	reply.RawOutputContents = [][]byte{b}
}

// serve starts the fake and returns the address of its model.
func (f *fake) serve(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	inference.RegisterGRPCInferenceServiceServer(server, f)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "kserve:grpc://" + listener.Addr().String() + "?model=nli"
}

const classesOption = "&classes=entailment,neutral,contradiction"

func openAddress(t testing.TB, address string) *Verifier {
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

var (
	supported   = entail.Pair{Premise: "The sky is blue. Grass is green.", Hypothesis: "Grass is green."}
	unsupported = entail.Pair{Premise: "The sky is blue. Grass is green.", Hypothesis: "Roses are red."}
)

// softmax of the fake's logits, computed by hand: e², 1 and 1/e; e⁻², 1 and 1/e.
var (
	wantSupported   = entail.Scores{Entailment: 0.843795, Neutral: 0.114195, Contradiction: 0.042010, ThreeClass: true}
	wantUnsupported = entail.Scores{Entailment: 0.090031, Neutral: 0.665241, Contradiction: 0.244728, ThreeClass: true}
)

func near(a, b entail.Scores) bool {
	return math.Abs(a.Entailment-b.Entailment) < 1e-5 && math.Abs(a.Neutral-b.Neutral) < 1e-5 &&
		math.Abs(a.Contradiction-b.Contradiction) < 1e-5 && a.ThreeClass == b.ThreeClass
}
