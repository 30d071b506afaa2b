// Package ort runs a classifier of pairs on ONNX Runtime: it finds and loads
// the shared library, opens sessions, and runs single pairs on them.
package ort

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	onnx "github.com/yalue/onnxruntime_go"

	"plumbline/models"
)

// Session is a loaded network. It is safe for concurrent use: every run goes
// through a Runner, and ONNX Runtime allows concurrent runs of one session.
type Session struct {
	session *onnx.DynamicAdvancedSession
	inputs  []string
	shape   onnx.Shape      // of the network's output
	decoder *models.Decoder // nil for a classifier
	limit   int
	close   func() error
}

// Open loads the library and the model's network.
func Open(library Library, model *models.Model) (*Session, error) {
	if err := acquire(library); err != nil {
		return nil, err
	}
	session, err := newSession(model)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	session.close = sync.OnceValue(func() error {
		return errors.Join(session.session.Destroy(), release())
	})
	return session, nil
}

func newSession(model *models.Model) (*Session, error) {
	options, err := sessionOptions()
	if err != nil {
		return nil, fmt.Errorf("ONNX Runtime session options: %w", err)
	}
	defer func() { _ = options.Destroy() }()
	manifest := &model.Manifest
	session, err := onnx.NewDynamicAdvancedSessionWithONNXData(model.Weights, manifest.Inputs, []string{manifest.Output}, options)
	if err != nil {
		return nil, fmt.Errorf("ONNX Runtime refuses the network %s of model %s: %w; export it for a release that the library knows, or fetch it again",
			manifest.Files.Weights.Name, manifest.Name, err)
	}
	s := &Session{session: session, inputs: manifest.Inputs, decoder: manifest.Decoder, limit: manifest.MaxTokens}
	s.shape = onnx.NewShape(1, int64(len(manifest.Classes)))
	if s.decoder != nil {
		s.shape = onnx.NewShape(1, 1, int64(s.decoder.Vocabulary))
	}
	return s, nil
}

// sessionOptions sets one thread to a run: the engine has its parallelism in
// runs side by side, which scales better than threads inside small matrices
// and leaves no thread spinning.
func sessionOptions() (*onnx.SessionOptions, error) {
	options, err := onnx.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		options.SetIntraOpNumThreads(1),
		options.SetInterOpNumThreads(1),
		options.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"),
		// Memory patterns are kept for every input shape that was ever seen;
		// with a shape for each length they would only grow.
		options.SetMemPattern(false),
	)
	if err != nil {
		return nil, errors.Join(err, options.Destroy())
	}
	return options, nil
}

// Close frees the network, and the library if nobody else uses it. All runners
// must be closed before.
func (s *Session) Close() error { return s.close() }

// Runner runs one pair at a time on its session. Its buffers are reused, so
// that it must not be shared between goroutines.
type Runner struct {
	session *Session
	options *onnx.RunOptions
	output  *onnx.Tensor[float32]
	ids     []int64
	mask    []int64
	types   []int64
	start   []int64   // of the decoder
	logits  []float32 // of the classes, picked from a decoder's output
	pinner  runtime.Pinner
}

// NewRunner prepares a runner.
func (s *Session) NewRunner() (*Runner, error) {
	options, err := onnx.NewRunOptions()
	if err != nil {
		return nil, fmt.Errorf("ONNX Runtime run options: %w", err)
	}
	output := make([]float32, s.shape.FlattenedSize())
	r := &Runner{
		session: s,
		options: options,
		ids:     make([]int64, s.limit),
		mask:    make([]int64, s.limit),
		types:   make([]int64, s.limit),
		start:   make([]int64, 1),
	}
	for i := range r.mask {
		r.mask[i] = 1
	}
	if s.decoder != nil {
		r.start[0] = s.decoder.StartID
		r.logits = make([]float32, len(s.decoder.ClassIDs))
	}
	// ONNX Runtime keeps pointers to these slices in its tensors across calls.
	for _, buffer := range [][]int64{r.ids, r.mask, r.types, r.start} {
		r.pinner.Pin(&buffer[0])
	}
	r.pinner.Pin(&output[0])
	r.output, err = onnx.NewTensor(s.shape, output)
	if err != nil {
		r.pinner.Unpin()
		return nil, errors.Join(fmt.Errorf("ONNX Runtime output tensor: %w", err), options.Destroy())
	}
	return r, nil
}

// Close frees the runner.
func (r *Runner) Close() error {
	err := errors.Join(r.output.Destroy(), r.options.Destroy())
	r.pinner.Unpin()
	return err
}

// Run feeds one pair at its exact length, without padding, and returns the
// logits in the order of the manifest's classes. The slice is valid until the
// next Run. ids and types have equal length, between 1 and the manifest's
// MaxTokens. When ctx ends, the run is stopped between two nodes of the
// network, and the error is ctx's.
func (r *Runner) Run(ctx context.Context, ids, types []int64) ([]float32, error) {
	if len(ids) == 0 || len(ids) > r.session.limit || len(types) != len(ids) {
		return nil, fmt.Errorf("a run needs 1 to %d token ids with as many types, got %d and %d", r.session.limit, len(ids), len(types))
	}
	copy(r.ids, ids)
	copy(r.types, types)
	inputs, err := r.tensors(len(ids))
	defer destroy(inputs)
	if err != nil {
		return nil, fmt.Errorf("ONNX Runtime input tensor: %w", err)
	}
	if err := r.runUntil(ctx, inputs); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("ONNX Runtime run: %w", err)
	}
	return r.classLogits(), nil
}

// classLogits picks the logits of the classes from the output.
func (r *Runner) classLogits() []float32 {
	output := r.output.GetData()
	if r.session.decoder == nil {
		return output
	}
	for i, id := range r.session.decoder.ClassIDs {
		r.logits[i] = output[id]
	}
	return r.logits
}

// tensors wraps the first n elements of the buffers. A tensor's shape is
// fixed, so that it is made anew for each run; that costs about a microsecond.
func (r *Runner) tensors(n int) ([]onnx.Value, error) {
	values := make([]onnx.Value, 0, len(r.session.inputs))
	for _, name := range r.session.inputs {
		length := n
		if name == models.InputDecoderIDs {
			length = len(r.start)
		}
		tensor, err := onnx.NewTensor(onnx.NewShape(1, int64(length)), r.buffer(name))
		if err != nil {
			return values, err
		}
		values = append(values, tensor)
	}
	return values, nil
}

// buffer returns the buffer of an input that the manifest's check let through.
func (r *Runner) buffer(input string) []int64 {
	switch input {
	case models.InputIDs:
		return r.ids
	case models.InputTokenTypeIDs:
		return r.types
	case models.InputDecoderIDs:
		return r.start
	default:
		return r.mask
	}
}

func destroy(values []onnx.Value) {
	for _, v := range values {
		// Destroying a tensor only frees memory and reports no failure.
		_ = v.Destroy()
	}
}

// runUntil runs the network and lets the end of ctx terminate it.
func (r *Runner) runUntil(ctx context.Context, inputs []onnx.Value) error {
	terminated := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(terminated)
		_ = r.options.Terminate()
	})
	err := r.session.session.RunWithOptions(inputs, []onnx.Value{r.output}, r.options)
	if !stop() {
		// The flag must not reach the next run.
		<-terminated
		return errors.Join(err, r.options.UnsetTerminate())
	}
	return err
}
