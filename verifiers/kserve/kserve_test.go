package kserve

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"plumbline/models/tokenizer"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
	"plumbline/verifiers/protocols/inference"
)

// Scores are the same however a server writes its tensors.
func TestScores(t *testing.T) {
	for name, encode := range map[string]func(*inference.ModelInferResponse, [][]float32){
		"typed": typed, "typed, double": typed64, "raw": raw, "raw, double": raw64,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.encode = encode
			v := openAddress(t, f.serve(t)+classesOption+"&batch=3&max_tokens=512&languages=en")
			pairs := append(slices.Repeat([]entail.Pair{supported, unsupported}, 3), supported)
			batch, err := v.Verify(t.Context(), pairs)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range batch.Results {
				want := wantSupported
				if pairs[i] == unsupported {
					want = wantUnsupported
				}
				if r.Err != nil || !near(r.Scores, want) {
					t.Errorf("pair %d: %+v, want %+v", i, r, want)
				}
			}
			d, err := v.Describe(t.Context())
			if err != nil || d.Name != "nli" || !d.ThreeClass || d.MaxTokens != 512 || d.ScoreKind != entail.ScoreKindProbability ||
				!strings.HasPrefix(d.Digest, "sha256:") || !slices.Equal(d.Languages, []string{"en"}) {
				t.Errorf("described as %+v, %v", d, err)
			}
			if u := batch.Usage; u.Pairs != 7 || u.Verifier != "nli" || u.Digest != d.Digest || u.Inference <= 0 {
				t.Errorf("usage %+v", u)
			}
			if n := len(f.requests); n != 4 { // the first learns the version
				t.Errorf("%d requests for 7 pairs, 3 at a time", n)
			}
			if err := v.Probe(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The order of the output's columns is what the configuration says.
func TestClasses(t *testing.T) {
	for classes, want := range map[string]entail.Scores{
		"contradiction,neutral,entailment": {
			Entailment: wantSupported.Contradiction, Neutral: wantSupported.Neutral, Contradiction: wantSupported.Entailment, ThreeClass: true,
		},
		"Entailment,NEUTRAL,Contradiction": wantSupported,
	} {
		batch, err := openAddress(t, newFake().serve(t)+"&classes="+classes).Verify(t.Context(), []entail.Pair{supported})
		if err != nil || !near(batch.Results[0].Scores, want) {
			t.Errorf("%s: %+v, %v, want %+v", classes, batch, err, want)
		}
	}
}

func TestProbabilities(t *testing.T) {
	f := newFake()
	f.logits = func(string, string) []float32 { return []float32{.25, .75} }
	batch, err := openAddress(t, f.serve(t)+"&classes=not_entailment,entailment&values=probabilities").Verify(t.Context(), []entail.Pair{supported})
	if err != nil || !near(batch.Results[0].Scores, entail.Scores{Entailment: .75}) {
		t.Errorf("got %+v, %v", batch, err)
	}
	f.logits = func(string, string) []float32 { return []float32{3, -1} }
	if _, err := openAddress(t, f.serve(t)+"&classes=not_entailment,entailment&values=probabilities").Verify(t.Context(), []entail.Pair{supported}); !errors.Is(err, entail.ErrBadReply) {
		t.Errorf("logits are taken for probabilities: %v", err)
	}
}

// Texts arrive as they are, in tensors of the shape that the model declares.
func TestTexts(t *testing.T) {
	f := newFake()
	f.inputs = []*tensorSpec{
		{Name: "claim", Datatype: "BYTES", Shape: []int64{-1, 1}},
		{Name: "evidence", Datatype: "BYTES", Shape: []int64{-1, 1}},
	}
	f.fail = func(r *inference.ModelInferRequest) error {
		for _, input := range r.GetInputs() { // the fake knows the default names
			input.Name = map[string]string{"evidence": "premise", "claim": "hypothesis"}[input.GetName()]
		}
		return nil
	}
	pair := entail.Pair{Premise: "a\x00b\n日本 </s>", Hypothesis: "日本 </s>"}
	batch, err := openAddress(t, f.serve(t)+classesOption+"&premise=evidence&hypothesis=claim").Verify(t.Context(), []entail.Pair{pair, pair})
	if err != nil || !near(batch.Results[1].Scores, wantSupported) {
		t.Fatalf("got %+v, %v", batch, err)
	}
	for _, input := range f.requests[len(f.requests)-1].GetInputs() {
		want := map[string]string{"premise": pair.Premise, "hypothesis": pair.Hypothesis}[input.GetName()]
		if input.GetDatatype() != "BYTES" || !slices.Equal(input.GetShape(), []int64{2, 1}) || string(input.GetContents().GetBytesContents()[1]) != want {
			t.Errorf("sent %v", input)
		}
	}
}

const tokenizerFile = "../../models/bundled/tokenizer.json"

// With a tokenizer, the model gets the ids of pairs, padded to one width.
func TestTokens(t *testing.T) {
	reference, err := tokenizer.Load(tokenizerFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, datatype := range []string{"INT64", "INT32"} {
		f := newFake()
		f.inputs = []*tensorSpec{
			{Name: "input_ids", Datatype: datatype, Shape: []int64{-1, -1}},
			{Name: "token_type_ids", Datatype: datatype, Shape: []int64{-1, -1}},
			{Name: "attention_mask", Datatype: datatype, Shape: []int64{-1, -1}},
		}
		v := openAddress(t, f.serve(t)+classesOption+"&max_tokens=32&tokenizer="+tokenizerFile)
		short, long := entail.Pair{Premise: "Yes.", Hypothesis: "No."}, entail.Pair{Premise: strings.Repeat("word ", 40), Hypothesis: "No."}
		batch, err := v.Verify(t.Context(), []entail.Pair{supported, short, long})
		if err != nil {
			t.Fatal(err)
		}
		if batch.Results[0].Err != nil || batch.Results[1].Err != nil || statusOf(batch.Results[2]) != plumblinev1.Status_STATUS_TOO_LONG {
			t.Fatalf("got %+v", batch.Results)
		}
		d, err := v.Describe(t.Context())
		if err != nil || d.Tokenizer == nil || d.PairOverhead != reference.PairOverhead() || d.MaxTokens != 32 {
			t.Errorf("described as %+v, %v", d, err)
		}
		var rows, masked [][]int64
		for _, r := range f.requests[1:] {
			rows, masked = append(rows, row(r, "input_ids")...), append(masked, row(r, "attention_mask")...)
		}
		total := 0
		for i, pair := range []entail.Pair{supported, short} {
			want := reference.EncodePair(pair.Premise, pair.Hypothesis).IDs
			n := len(want)
			total += n
			if !slices.Equal(rows[i][:n], want) || slices.ContainsFunc(rows[i][n:], func(id int64) bool { return id != 0 }) {
				t.Errorf("%s: pair %d was sent as %v, want %v", datatype, i, rows[i], want)
			}
			if !slices.Equal(masked[i][:n], slices.Repeat([]int64{1}, n)) || slices.Contains(masked[i][n:], 1) {
				t.Errorf("%s: pair %d has the mask %v, want %d ones", datatype, i, masked[i], n)
			}
		}
		if batch.Usage.Tokens != total {
			t.Errorf("%d tokens, want %d", batch.Usage.Tokens, total)
		}
	}
}

// row takes the rows of a tensor from a request.
func row(r *inference.ModelInferRequest, name string) (rows [][]int64) {
	for _, input := range r.GetInputs() {
		if input.GetName() != name {
			continue
		}
		values := slices.Clone(input.GetContents().GetInt64Contents())
		for _, value := range input.GetContents().GetIntContents() {
			values = append(values, int64(value))
		}
		return slices.Collect(slices.Chunk(values, int(input.GetShape()[1])))
	}
	return nil
}

func TestModelsThatDoNotFit(t *testing.T) {
	tokens := "&max_tokens=32&tokenizer=" + tokenizerFile
	for name, test := range map[string]struct {
		options string
		change  func(*fake)
		want    error
		says    string
	}{
		"the server is not ready":     {"", func(f *fake) { f.ready = false }, entail.ErrUnavailable, "not ready"},
		"the model is not ready":      {"", func(f *fake) { f.modelReady = false }, entail.ErrUnavailable, "not ready"},
		"no such input":               {"&premise=document", func(*fake) {}, entail.ErrRejected, `"document"`},
		"no such output":              {"&output=scores", func(*fake) {}, entail.ErrRejected, `"scores"`},
		"several outputs":             {"", func(f *fake) { f.outputs = append(f.outputs, &tensorSpec{Name: "hidden"}) }, entail.ErrRejected, "output=NAME"},
		"no output is known":          {"", func(f *fake) { f.outputs = nil }, entail.ErrRejected, "output=NAME"},
		"an input of another type":    {"", func(f *fake) { f.inputs[0].Datatype = "INT64" }, entail.ErrRejected, "BYTES"},
		"an input of another shape":   {"", func(f *fake) { f.inputs[0].Shape = []int64{-1, 512} }, entail.ErrRejected, "[-1, 1]"},
		"texts in place of ids":       {tokens, func(*fake) {}, entail.ErrRejected, "input_ids"},
		"an input that nobody fills":  {tokens, func(f *fake) { f.inputs = idInputs("input_ids", "pixels") }, entail.ErrRejected, "pixels"},
		"the server refuses the pair": {"", func(f *fake) { f.fail = failing(codes.InvalidArgument) }, entail.ErrRejected, "as it likes"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			test.change(f)
			v := openAddress(t, f.serve(t)+classesOption+test.options)
			if err := v.Probe(t.Context()); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %v with %q", err, test.want, test.says)
			}
			if _, err := v.Verify(t.Context(), []entail.Pair{supported}); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	address := strings.Replace(newFake().serve(t), "model=nli", "model=other", 1)
	if err := openAddress(t, address+classesOption).Probe(t.Context()); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("another model: %v", err)
	}
}

func idInputs(names ...string) (inputs []*tensorSpec) {
	for _, name := range names {
		inputs = append(inputs, &tensorSpec{Name: name, Datatype: "INT64", Shape: []int64{-1, -1}})
	}
	return inputs
}

func failing(code codes.Code) func(*inference.ModelInferRequest) error {
	return func(r *inference.ModelInferRequest) error {
		texts := r.GetInputs()[0].GetContents().GetBytesContents()
		return status.Errorf(code, "as it likes, about %q", texts)
	}
}

// A server that says nothing of its model's tensors is believed to have those of
// the configuration.
func TestAServerWithoutMetadata(t *testing.T) {
	f := newFake()
	f.inputs, f.outputs = nil, nil
	batch, err := openAddress(t, f.serve(t)+classesOption+"&output=logits").Verify(t.Context(), []entail.Pair{supported})
	if err != nil || !near(batch.Results[0].Scores, wantSupported) {
		t.Errorf("got %+v, %v", batch, err)
	}
}

func settled(t *testing.T, f *fake) *Verifier {
	t.Helper()
	v := openAddress(t, f.serve(t)+classesOption)
	if _, err := v.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRepliesThatAreNone(t *testing.T) {
	for name, test := range map[string]struct {
		encode func(*inference.ModelInferResponse, [][]float32)
		change func(*inference.ModelInferResponse)
	}{
		"no output":                 {typed, func(m *inference.ModelInferResponse) { m.Outputs = nil }},
		"another output":            {typed, func(m *inference.ModelInferResponse) { m.Outputs[0].Name = "other" }},
		"another request's":         {typed, func(m *inference.ModelInferResponse) { m.Id = "0" }},
		"another model's":           {typed, func(m *inference.ModelInferResponse) { m.ModelName = "other" }},
		"a row too few":             {typed, func(m *inference.ModelInferResponse) { m.Outputs[0].Shape[0]-- }},
		"a row too many":            {typed, func(m *inference.ModelInferResponse) { m.Outputs[0].Shape[0]++ }},
		"a class too few":           {typed, func(m *inference.ModelInferResponse) { m.Outputs[0].Shape[1]-- }},
		"transposed":                {typed, func(m *inference.ModelInferResponse) { slices.Reverse(m.Outputs[0].Shape) }},
		"one dimension":             {typed, func(m *inference.ModelInferResponse) { m.Outputs[0].Shape = []int64{6} }},
		"a negative dimension":      {typed, func(m *inference.ModelInferResponse) { m.Outputs[0].Shape = []int64{-1, -1} }},
		"another type":              {typed, func(m *inference.ModelInferResponse) { m.Outputs[0].Datatype = "FP16" }},
		"a type and other contents": {typed, func(m *inference.ModelInferResponse) { m.Outputs[0].Datatype = "FP64" }},
		"contents cut":              {typed, func(m *inference.ModelInferResponse) { c := m.Outputs[0].Contents; c.Fp32Contents = c.Fp32Contents[:5] }},
		"contents too long": {typed, func(m *inference.ModelInferResponse) {
			c := m.Outputs[0].Contents
			c.Fp32Contents = append(c.Fp32Contents, 1)
		}},
		"no contents":           {typed, func(m *inference.ModelInferResponse) { m.Outputs[0].Contents = nil }},
		"NaN":                   {typed, func(m *inference.ModelInferResponse) { m.Outputs[0].Contents.Fp32Contents[4] = float32(math.NaN()) }},
		"infinite":              {typed, func(m *inference.ModelInferResponse) { m.Outputs[0].Contents.Fp32Contents[0] = float32(math.Inf(1)) }},
		"raw, cut":              {raw, func(m *inference.ModelInferResponse) { m.RawOutputContents[1] = m.RawOutputContents[1][:23] }},
		"raw, a number short":   {raw, func(m *inference.ModelInferResponse) { m.RawOutputContents[1] = m.RawOutputContents[1][:20] }},
		"raw, one tensor short": {raw, func(m *inference.ModelInferResponse) { m.RawOutputContents = m.RawOutputContents[1:] }},
		"raw, NaN":              {raw, func(m *inference.ModelInferResponse) { copy(m.RawOutputContents[1], []byte{0, 0, 0xc0, 0x7f}) }},
		"raw and typed":         {typed, func(m *inference.ModelInferResponse) { m.RawOutputContents = [][]byte{make([]byte, 24)} }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.encode = test.encode
			v := settled(t, f)
			f.change = test.change
			batch, err := v.Verify(t.Context(), []entail.Pair{supported, unsupported})
			if !errors.Is(err, entail.ErrBadReply) {
				t.Errorf("got %+v, %v, want entail.ErrBadReply", batch, err)
			}
		})
	}
}

func statusOf(result entail.Result) plumblinev1.Status {
	missing, ok := errors.AsType[*score.Missing](result.Err)
	if !ok {
		return plumblinev1.Status_STATUS_UNSPECIFIED
	}
	return missing.Status
}

func TestRefusedPairs(t *testing.T) {
	f := newFake()
	v := settled(t, f)
	f.fail = func(r *inference.ModelInferRequest) error {
		for _, text := range r.GetInputs()[0].GetContents().GetBytesContents() {
			if strings.Contains(string(text), "poison") {
				return status.Errorf(codes.InvalidArgument, "refused: %s", text)
			}
		}
		return nil
	}
	poison := entail.Pair{Premise: "A poison.", Hypothesis: "It kills."}
	huge := entail.Pair{Premise: strings.Repeat("x", 5<<20), Hypothesis: "y"}
	batch, err := v.Verify(t.Context(), []entail.Pair{supported, poison, unsupported, huge, supported})
	if err != nil {
		t.Fatal(err)
	}
	if statusOf(batch.Results[1]) != plumblinev1.Status_STATUS_INVALID_INPUT || strings.Contains(batch.Results[1].Err.Error(), "A poison") {
		t.Errorf("refused: %v", batch.Results[1].Err)
	}
	if statusOf(batch.Results[3]) != plumblinev1.Status_STATUS_TOO_LONG {
		t.Errorf("too large: %v", batch.Results[3].Err)
	}
	for _, i := range []int{0, 2, 4} {
		if batch.Results[i].Err != nil {
			t.Errorf("pair %d: %v", i, batch.Results[i].Err)
		}
	}
}

func TestFaults(t *testing.T) {
	for code, want := range map[codes.Code]error{
		codes.Unavailable: entail.ErrUnavailable, codes.Internal: entail.ErrUnavailable, codes.Unknown: entail.ErrUnavailable,
		codes.ResourceExhausted: entail.ErrBusy, codes.NotFound: entail.ErrRejected, codes.Unauthenticated: entail.ErrRejected,
	} {
		f := newFake()
		v := settled(t, f)
		f.fail = failing(code)
		_, err := v.Verify(t.Context(), []entail.Pair{supported})
		if !errors.Is(err, want) || strings.Contains(err.Error(), supported.Premise) {
			t.Errorf("%v: got %v, want %v", code, err, want)
		}
		if err := v.Probe(t.Context()); (err == nil) != (code == codes.ResourceExhausted) {
			t.Errorf("%v: the probe says %v", code, err)
		}
	}
}

// A call is never answered by two versions of a model, and the next call is
// answered by the new one.
func TestTheVersionChanges(t *testing.T) {
	f := newFake()
	v := settled(t, f)
	before, err := v.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.version = "2"
	if _, err := v.Verify(t.Context(), []entail.Pair{supported}); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	batch, err := v.Verify(t.Context(), []entail.Pair{supported})
	if err != nil || batch.Usage.Digest == before.Digest || batch.Usage.Digest == "" {
		t.Errorf("then got %+v, %v", batch, err)
	}
}

func TestTheVersionThatIsWanted(t *testing.T) {
	f := newFake()
	v := openAddress(t, f.serve(t)+classesOption+"&version=7")
	if _, err := v.Verify(t.Context(), []entail.Pair{supported}); err != nil {
		t.Fatal(err)
	}
	for _, r := range f.requests {
		if r.GetModelVersion() != "7" {
			t.Errorf("asked for the version %q", r.GetModelVersion())
		}
	}
}

func TestSlowServers(t *testing.T) {
	f := newFake()
	address := f.serve(t) + classesOption
	// The timeout would also bound the questions about the model, which must succeed.
	known, err := openAddress(t, address).known(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v := openAddress(t, address+"&timeout=100ms")
	v.model.Set(known)
	hang := make(chan struct{})
	defer close(hang)
	f.fail = func(*inference.ModelInferRequest) error { <-hang; return nil }
	if _, err := v.Verify(t.Context(), []entail.Pair{supported}); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("got %v, want entail.ErrUnavailable", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Verify(ctx, []entail.Pair{supported}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestTheKey(t *testing.T) {
	t.Setenv("PLUMBLINE_TEST_KEY", "sesame")
	f := newFake()
	if _, err := openAddress(t, f.serve(t)+classesOption+"&key_env=PLUMBLINE_TEST_KEY").Verify(t.Context(), []entail.Pair{supported}); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(f.keys, func(key string) bool { return key != "Bearer sesame" }) {
		t.Errorf("asked with %q", f.keys)
	}
}

func TestClosed(t *testing.T) {
	v := openAddress(t, "kserve:grpc://127.0.0.1:1?model=nli"+classesOption)
	if err := v.Probe(t.Context()); !errors.Is(err, entail.ErrUnavailable) {
		t.Errorf("nobody listens: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Describe(t.Context()); !errors.Is(err, entail.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestConfigurations(t *testing.T) {
	for options, want := range map[string]string{
		"":                                       "model",
		"?model=m":                               "classes",
		"?model=m&classes=entailment,neutral":    "classes",
		"?model=m&classes=a,b,c":                 "classes",
		"?model=m&values=odds" + classesOption:   "values",
		"?model=m&batch=-1" + classesOption:      "batch",
		"?model=m&max_tokens=-1" + classesOption: "max_tokens",
		"?model=m&tokenizer=x" + classesOption:   "max_tokens",
		"?model=m&max_tokens=9&tokenizer=/none/tokenizer.json" + classesOption: "tokenizer",
		"?model=m&premise=x&hypothesis=x" + classesOption:                      "premise",
	} {
		config, err := Parse("kserve:grpc://127.0.0.1:1" + options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", options, err, want)
		}
	}
	if _, err := Parse("kserve:http://127.0.0.1?model=m"); err == nil {
		t.Error("HTTP is taken for a transport")
	}
}

// BenchmarkVerify is what a pair costs beside the model: 64 pairs a call, to a
// server on this machine that answers at once.
func BenchmarkVerify(b *testing.B) {
	v := openAddress(b, newFake().serve(b)+classesOption)
	pairs := slices.Repeat([]entail.Pair{supported, unsupported}, 32)
	for b.Loop() {
		if _, err := v.Verify(b.Context(), pairs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(pairs)), "µs/pair")
}
