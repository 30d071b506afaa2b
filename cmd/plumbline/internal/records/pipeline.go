// Package records is the command line's way with data: one JSON record a line
// in, one a line out, in the same order, scored in parallel within bounded
// memory. A record that fails leaves a line that says why, so that input and
// output stay side by side.
package records

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
)

// Handler answers one record: with a message, or with what was wrong.
type Handler func(ctx context.Context, record []byte) (proto.Message, *plumblinev1.ItemError)

// Abandoned is the answer of a handler that has given up a record on ErrInterrupted.
// Neither it nor what comes after it is written: a run that resumes begins there.
var Abandoned = fault.Item(fault.From(ErrInterrupted))

// ErrInterrupted is why the context of Waiting has ended, if the run was interrupted.
var ErrInterrupted = fmt.Errorf("the run was interrupted: %w", context.Canceled)

// runKey finds the run's context in that of a record.
type runKey struct{}

// Waiting is the context in which a handler may wait before a record is begun. It
// ends with that of the record, and when the run is interrupted.
func Waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	waiting, end := context.WithCancelCause(ctx)
	keep := func() bool { return true }
	if run, ok := ctx.Value(runKey{}).(context.Context); ok {
		keep = context.AfterFunc(run, func() { end(ErrInterrupted) })
	}
	return waiting, func() { keep(); end(nil) }
}

// Pipeline runs a handler over lines.
type Pipeline struct {
	// Handle is called from several goroutines at once.
	Handle Handler
	// Workers is how many records are handled at once.
	Workers int
	// MaxLine is the longest line in bytes; a longer one fails alone. It also
	// bounds the input held at any time, lines waiting for their turn included.
	MaxLine int
	// Earlier is what the output has already: as many records are passed over, and
	// the summary counts on from it.
	Earlier Summary
	// Done, if set, is told of each record once it is written, in order.
	// failure is nil if the record went well.
	Done func(line int, failure *plumblinev1.ItemError)
}

// Summary counts what a run did.
type Summary struct {
	// Records is how many lines were answered, Failed how many of them with an
	// error; both count what Earlier has.
	Records, Failed int
	// Interrupted says that the run was ended before the input was.
	Interrupted bool
}

// windowPerWorker is how many finished records may wait, for each worker, for a
// slow one before them.
const windowPerWorker = 16

// outcome is a handled line on its way to the writer.
type outcome struct {
	line    int
	data    []byte
	failure *plumblinev1.ItemError
	weight  int64
}

// Run reads in to its end and writes a line to out for each of its lines. When
// ctx ends it stops reading, finishes the records under way, writes them and
// returns. An error is one of reading or writing.
func (p Pipeline) Run(ctx context.Context, in io.Reader, out io.Writer) (Summary, error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var (
		budget  = semaphore.NewWeighted(int64(max(p.MaxLine, 1)))
		slots   = make(chan chan outcome, p.Workers*windowPerWorker)
		readErr error
	)
	go func() {
		defer close(slots)
		readErr = p.dispatch(reading, in, budget, slots)
	}()

	summary, writeErr := p.write(out, budget, slots, stop)
	summary.Interrupted = ctx.Err() != nil
	if writeErr != nil {
		return summary, fmt.Errorf("writing the output: %w", writeErr)
	}
	if readErr != nil {
		return summary, fmt.Errorf("reading the input: %w", readErr)
	}
	return summary, nil
}

// dispatch starts the handling of each line and queues the place where its
// outcome will be, so that the writer sees them in order.
func (p Pipeline) dispatch(ctx context.Context, in io.Reader, budget *semaphore.Weighted, slots chan<- chan outcome) error {
	// Records under way are finished whatever becomes of the reading.
	working := context.WithValue(context.WithoutCancel(ctx), runKey{}, ctx)
	var workers errgroup.Group
	workers.SetLimit(p.Workers)
	defer func() { _ = workers.Wait() }()

	lines := read(ctx, in, p.MaxLine)
	passed := 0
	for {
		var next lineOrError
		select {
		case <-ctx.Done():
			return nil
		case received, open := <-lines:
			if !open && passed < p.Earlier.Records && ctx.Err() == nil {
				return fmt.Errorf("it has %d records and the output already %d lines: the output is of another input", passed, p.Earlier.Records)
			}
			if !open {
				return nil
			}
			next = received
		}
		if next.err != nil {
			return next.err
		}
		if passed < p.Earlier.Records {
			passed++
			continue
		}
		weight := int64(len(next.line.Data))
		slot := make(chan outcome, 1)
		if budget.Acquire(ctx, weight) != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case slots <- slot:
		}
		workers.Go(func() error {
			done := p.handle(working, next.line)
			done.weight = weight
			slot <- done
			return nil
		})
	}
}

type lineOrError struct {
	line Line
	err  error
}

// read reads lines on a goroutine of its own: a read from a terminal or pipe
// cannot be interrupted, but it need not hold up the end of the run.
func read(ctx context.Context, in io.Reader, limit int) <-chan lineOrError {
	lines := make(chan lineOrError)
	go func() {
		defer close(lines)
		for line, err := range Lines(in, limit) {
			select {
			case <-ctx.Done():
				return
			case lines <- lineOrError{line, err}:
			}
		}
	}()
	return lines
}

func (p Pipeline) handle(ctx context.Context, line Line) outcome {
	if line.TooLong {
		return failed(line.Number, fault.Item(fault.New(fault.MessageTooLarge,
			"the line is longer than %d bytes: split the record or raise limits.max_message_bytes", p.MaxLine)))
	}
	message, failure := p.Handle(ctx, line.Data)
	if failure == Abandoned {
		return outcome{failure: failure}
	}
	if failure != nil {
		return failed(line.Number, failure)
	}
	data, err := Encode(message)
	if err != nil {
		return failed(line.Number, fault.Item(fault.New(fault.Internal, "the response could not be written as JSON")))
	}
	return outcome{line: line.Number, data: data}
}

// errorLine is what stands in the output in place of a response.
type errorLine struct {
	Error struct {
		Line    int    `json:"line"`
		Code    string `json:"code"`
		Field   string `json:"field,omitempty"`
		Message string `json:"message"`
		Reason  string `json:"reason,omitempty"`
	} `json:"error"`
}

func failed(number int, failure *plumblinev1.ItemError) outcome {
	var line errorLine
	line.Error.Line = number
	line.Error.Code = failure.GetCode()
	line.Error.Field = failure.GetField()
	line.Error.Message = failure.GetMessage()
	line.Error.Reason = failure.GetReason()
	// Strings and a number always marshal.
	data, _ := json.Marshal(line)
	return outcome{line: number, data: data, failure: failure}
}

// write puts outcomes out in order. After a failed write it keeps emptying
// slots, so that no worker is left behind.
func (p Pipeline) write(out io.Writer, budget *semaphore.Weighted, slots <-chan chan outcome, stop func()) (Summary, error) {
	summary := p.Earlier
	var failed error
	abandoned := false
	writer := bufio.NewWriterSize(out, 64<<10)
	for slot := range slots {
		done := await(slot, writer)
		budget.Release(done.weight)
		abandoned = abandoned || done.failure == Abandoned
		if failed != nil || abandoned {
			continue
		}
		_, _ = writer.Write(done.data) // the writer keeps its first error
		failed = writer.WriteByte('\n')
		if len(slots) == 0 && failed == nil {
			failed = writer.Flush()
		}
		if failed != nil {
			stop()
			continue
		}
		summary.Records++
		if done.failure != nil {
			summary.Failed++
		}
		if p.Done != nil {
			p.Done(done.line, done.failure)
		}
	}
	if failed == nil {
		failed = writer.Flush()
	}
	return summary, failed
}

// await receives the next outcome. If it is not there yet, what has been
// written goes out first: a program at the other end of a pipe gets each answer
// as it is ready.
func await(slot <-chan outcome, writer *bufio.Writer) outcome {
	select {
	case done := <-slot:
		return done
	default:
		_ = writer.Flush() // the writer keeps its first error
		return <-slot
	}
}
