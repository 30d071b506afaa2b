package service

import (
	"context"
	"errors"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"plumbline/server/fault"
)

// Source is the receiving half of a stream. Recv returns io.EOF after the last
// message.
type Source[Req any] interface {
	Recv() (*Req, error)
}

// Stream is a bidirectional stream. Recv and Send may run at once, each of
// them in one goroutine at a time.
type Stream[Req, Res any] interface {
	Source[Req]
	Send(*Res) error
}

// each answers every message of a stream in turn.
func each[Req, Res any](stream Stream[Req, Res], answer func(*Req) *Res) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fault.From(err)
		}
		if err := stream.Send(answer(req)); err != nil {
			return fault.From(err)
		}
	}
}

// batch answers every item, several at once, and keeps their order.
func batch[Req, Res any](ctx context.Context, items []*Req, answer func(*Req) *Res) ([]*Res, error) {
	results := make([]*Res, len(items))
	var group errgroup.Group
	// Twice the processors: while some items compute, others wait for the
	// verifier, which has a queue of its own.
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	for i, item := range items {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			results[i] = answer(item)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.From(err)
	}
	return results, nil
}

// alone runs the unary form of an rpc for one item, so that neither a bad item
// nor a defect touches its neighbours.
func alone[Req, Res any](ctx context.Context, req *Req, call func(context.Context, *Req) (*Res, error)) (res *Res, err error) {
	err = fault.Guard(func() error {
		res, err = call(ctx, req)
		return err
	})
	return res, err
}
