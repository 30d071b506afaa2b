package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"plumbline/internal/testwait"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/proto/plumbline/v1/plumblinev1connect"
	"plumbline/server"
)

// collector sends a calibration stream on one protocol.
type collector struct {
	name     string
	fit      func(context.Context, []*plumblinev1.FitRequest) (*plumblinev1.FitResponse, error)
	evaluate func(context.Context, []*plumblinev1.EvaluateRequest) (*plumblinev1.EvaluateResponse, error)
	replay   func(context.Context, []*plumblinev1.ReplayRequest) (*plumblinev1.ReplayResponse, error)
}

// collectors are native gRPC and every protocol of the HTTP listener.
func collectors(r *running) []collector {
	native := plumblinev1.NewCalibrationServiceClient(r.dial(r.GRPCAddr()))
	all := []collector{{
		name: "grpc",
		fit: func(ctx context.Context, frames []*plumblinev1.FitRequest) (*plumblinev1.FitResponse, error) {
			stream, err := native.Fit(ctx)
			if err != nil {
				return nil, err
			}
			return collect(frames, stream.Send, stream.CloseAndRecv)
		},
		evaluate: func(ctx context.Context, frames []*plumblinev1.EvaluateRequest) (*plumblinev1.EvaluateResponse, error) {
			stream, err := native.Evaluate(ctx)
			if err != nil {
				return nil, err
			}
			return collect(frames, stream.Send, stream.CloseAndRecv)
		},
		replay: func(ctx context.Context, frames []*plumblinev1.ReplayRequest) (*plumblinev1.ReplayResponse, error) {
			stream, err := native.Replay(ctx)
			if err != nil {
				return nil, err
			}
			return collect(frames, stream.Send, stream.CloseAndRecv)
		},
	}}
	for _, p := range protocols() {
		client := plumblinev1connect.NewCalibrationServiceClient(r.client(p.http2), r.url(""), p.options...)
		all = append(all, collector{
			name: p.name,
			fit: func(ctx context.Context, frames []*plumblinev1.FitRequest) (*plumblinev1.FitResponse, error) {
				stream, err := client.Fit(ctx)
				if err != nil {
					return nil, err
				}
				return collect(frames, stream.Send, stream.CloseAndReceive)
			},
			evaluate: func(ctx context.Context, frames []*plumblinev1.EvaluateRequest) (*plumblinev1.EvaluateResponse, error) {
				stream, err := client.Evaluate(ctx)
				if err != nil {
					return nil, err
				}
				return collect(frames, stream.Send, stream.CloseAndReceive)
			},
			replay: func(ctx context.Context, frames []*plumblinev1.ReplayRequest) (*plumblinev1.ReplayResponse, error) {
				stream, err := client.Replay(ctx)
				if err != nil {
					return nil, err
				}
				return collect(frames, stream.Send, stream.CloseAndReceive)
			},
		})
	}
	return all
}

// collect sends frames until the server has had enough and receives its answer.
func collect[Req, Res any](frames []*Req, send func(*Req) error, receive func() (*Res, error)) (*Res, error) {
	for _, frame := range frames {
		// After an early refusal sending fails with io.EOF; why is in the answer.
		if err := send(frame); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return receive()
}

func calibrationRecords(n int) []*plumblinev1.CalibrationRecord {
	var records []*plumblinev1.CalibrationRecord
	for i := range n {
		value := float64(i%10) / 10
		records = append(records, &plumblinev1.CalibrationRecord{
			Id: fmt.Sprint(i), Label: proto.Bool(value > 0.5 != (i%7 == 0)), Signals: map[string]float64{"final_conf": value},
			Arms: map[string]*plumblinev1.ArmOutcome{"never": {F1: proto.Float64(value)}, "always": {F1: proto.Float64(1 - value)}},
		})
	}
	return records
}

func fitFrames(records []*plumblinev1.CalibrationRecord) []*plumblinev1.FitRequest {
	frames := []*plumblinev1.FitRequest{{Frame: &plumblinev1.FitRequest_Options{
		Options: &plumblinev1.FitOptions{DataName: "made", Bootstrap: 20},
	}}}
	for _, r := range records {
		frames = append(frames, &plumblinev1.FitRequest{Frame: &plumblinev1.FitRequest_Record{Record: r}})
	}
	return frames
}

func TestCalibrationAnswersAlikeOnEveryProtocol(t *testing.T) {
	cfg := settings()
	cfg.Limits.MaxRecords = 100
	r := run(t, cfg, server.Options{Engine: overlap()})
	fit := fitFrames(calibrationRecords(100))
	var evaluate []*plumblinev1.EvaluateRequest
	var replay []*plumblinev1.ReplayRequest
	evaluate = append(evaluate, &plumblinev1.EvaluateRequest{Frame: &plumblinev1.EvaluateRequest_Options{
		Options: &plumblinev1.EvaluateOptions{Score: "final_conf", Bootstrap: 20},
	}})
	replay = append(replay, &plumblinev1.ReplayRequest{Frame: &plumblinev1.ReplayRequest_Options{
		Options: &plumblinev1.ReplayOptions{Policy: "beyond_uncertainty", Bootstrap: 20},
	}})
	for _, record := range calibrationRecords(100) {
		evaluate = append(evaluate, &plumblinev1.EvaluateRequest{Frame: &plumblinev1.EvaluateRequest_Record{Record: record}})
		replay = append(replay, &plumblinev1.ReplayRequest{Frame: &plumblinev1.ReplayRequest_Record{Record: record}})
	}
	var first []proto.Message
	for _, c := range collectors(r) {
		fitted, err := c.fit(t.Context(), fit)
		if err != nil || fitted.GetPolicy() == nil {
			t.Fatalf("%s: Fit: %v, %v", c.name, fitted, err)
		}
		fitted.Policy.Provenance.FittedAt = nil
		measured, err := c.evaluate(t.Context(), evaluate)
		if err != nil || measured.GetMetrics()["auroc"].GetValue() < 0.7 {
			t.Fatalf("%s: Evaluate: %v, %v", c.name, measured, err)
		}
		replayed, err := c.replay(t.Context(), replay)
		if err != nil || len(replayed.GetPolicies()) != 5 {
			t.Fatalf("%s: Replay: %v, %v", c.name, replayed, err)
		}
		answers := []proto.Message{fitted, measured, replayed}
		if first == nil {
			first = answers
		}
		for i, answer := range answers {
			if !proto.Equal(answer, first[i]) {
				t.Errorf("%s answers\n  %.800v\nwhere grpc has\n  %.800v", c.name, answer, first[i])
			}
		}
	}
}

func TestCalibrationRefusesAlikeOnEveryProtocol(t *testing.T) {
	cfg := settings()
	cfg.Limits.MaxRecords = 30
	r := run(t, cfg, server.Options{Engine: overlap()})
	twice := calibrationRecords(3)
	twice[2].Id = "1"
	for _, c := range collectors(r) {
		_, err := c.fit(t.Context(), fitFrames(calibrationRecords(31)))
		if f := failureOf(t, err); f.code != codes.ResourceExhausted || f.reason() != "TOO_MANY_ITEMS" {
			t.Errorf("%s: too many records: %v", c.name, f)
		}
		_, err = c.fit(t.Context(), fitFrames(twice))
		if f := failureOf(t, err); f.code != codes.InvalidArgument || !strings.Contains(f.message, "record 3") {
			t.Errorf("%s: one id twice: %v", c.name, f)
		}
		_, err = c.fit(t.Context(), fitFrames(twice)[1:])
		if f := failureOf(t, err); f.code != codes.InvalidArgument || f.reason() != "OUT_OF_ORDER" {
			t.Errorf("%s: no options: %v", c.name, f)
		}
	}
}

// TestAFitEndsWhenItsClientGoes: a bootstrap that would take minutes must not
// outlive the call.
func TestAFitEndsWhenItsClientGoes(t *testing.T) {
	r := run(t, settings(), server.Options{Engine: overlap()})
	frames := fitFrames(calibrationRecords(2000))
	frames[0].GetOptions().Bootstrap = 1_000_000
	for i, c := range collectors(r) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.fit(ctx, frames)
			ended <- err
		}()
		received := fmt.Sprintf("plumbline_rpc_received_bytes_count{procedure=%q} %d", plumblinev1connect.CalibrationServiceFitProcedure, (i+1)*len(frames))
		testwait.For(t, c.name+": all records received", func() bool {
			_, metrics := r.get("/metrics")
			return strings.Contains(metrics, received)
		})
		cancel()
		if err := <-ended; failureOf(t, err).code != codes.Canceled {
			t.Errorf("%s: %v", c.name, err)
		}
		testwait.For(t, c.name+": the end of the call", func() bool { return strings.Count(r.log.String(), `"code":"CANCELLED"`) == i+1 })
	}
}
