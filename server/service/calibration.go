package service

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/calibration"
	"plumbline/scorers/gate"
	"plumbline/server/fault"
)

// cellsPerRecord bounds the columns of a calibration call's data: with the
// configured number of records, so many values of 8 bytes are held at most.
const cellsPerRecord = 100

// Fit chooses signals and thresholds on labelled records.
func (s *Service) Fit(ctx context.Context, source Source[plumblinev1.FitRequest]) (*plumblinev1.FitResponse, error) {
	options, data, err := records[plumblinev1.FitOptions](ctx, s, source)
	if err != nil {
		return nil, err
	}
	provenance := &plumblinev1.Provenance{FittedAt: timestamppb.Now(), CodeVersion: s.deps.Version}
	response, err := calibration.Fit(ctx, data, options, provenance)
	if err != nil {
		return nil, fault.From(err)
	}
	return response, nil
}

// Evaluate measures a policy or a score on labelled records.
func (s *Service) Evaluate(ctx context.Context, source Source[plumblinev1.EvaluateRequest]) (*plumblinev1.EvaluateResponse, error) {
	options, data, err := records[plumblinev1.EvaluateOptions](ctx, s, source)
	if err != nil {
		return nil, err
	}
	var policies calibration.Policies
	if policies.Policy, err = s.optionalPolicy("options.policy", options.GetPolicy()); err != nil {
		return nil, err
	}
	if policies.Against, err = s.optionalPolicy("options.against_policy", options.GetAgainstPolicy()); err != nil {
		return nil, err
	}
	response, err := calibration.Evaluate(ctx, data, options, policies)
	if err != nil {
		return nil, fault.From(err)
	}
	return response, nil
}

// Replay recombines the recorded outcomes of arms.
func (s *Service) Replay(ctx context.Context, source Source[plumblinev1.ReplayRequest]) (*plumblinev1.ReplayResponse, error) {
	options, data, err := records[plumblinev1.ReplayOptions](ctx, s, source)
	if err != nil {
		return nil, err
	}
	policy, err := s.optionalPolicy("options.policy", options.GetPolicy())
	if err != nil {
		return nil, err
	}
	response, err := calibration.ReplayRecords(ctx, data, options, policy)
	if err != nil {
		return nil, fault.From(err)
	}
	return response, nil
}

// optionalPolicy finds the policy that a field of the options names; nil if it
// names none.
func (s *Service) optionalPolicy(field, name string) (calibration.Policy, error) {
	if name == "" {
		return nil, nil
	}
	set := s.deps.Gates()
	if _, err := set.Gate(name); err != nil {
		return nil, gateFault(err, field)
	}
	return served{set, name}, nil
}

// served is a policy as the service decides by it: with its fallbacks.
type served struct {
	set  *gate.Set
	name string
}

// Decide decides on one record.
func (s served) Decide(in gate.Inputs) gate.Decision {
	decision, _ := s.set.Apply(s.name, in, nil) // fails for unknown names and thresholds only
	return decision
}

// frame is a message of a calibration stream.
type frame[Options, Req any] interface {
	*Req
	proto.Message
	GetOptions() *Options
	GetRecord() *plumblinev1.CalibrationRecord
}

// records reads a calibration stream: the options, then the records.
func records[Options, Req any, F frame[Options, Req]](ctx context.Context, s *Service, source Source[Req]) (*Options, *calibration.Data, error) {
	var options *Options
	data := new(calibration.Data)
	for {
		message, err := source.Recv()
		if errors.Is(err, io.EOF) {
			if options == nil {
				return nil, nil, fault.Field(fault.OutOfOrder, "options", "the stream has none; they are its first message")
			}
			return options, data, nil
		}
		if err != nil {
			return nil, nil, fault.From(err)
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, fault.From(err)
		}
		next := F(message)
		if err := s.validate(next); err != nil {
			return nil, nil, atRecord(err, data.Len()+1, options == nil)
		}
		switch {
		case (options == nil) != (next.GetOptions() != nil):
			return nil, nil, fault.Field(fault.OutOfOrder, "options", "they are the first message of the stream, and only that")
		case options == nil:
			options = next.GetOptions()
		default:
			if err := s.admit(data); err != nil {
				return nil, nil, err
			}
			if err := data.Add(calibration.FromMessage(next.GetRecord())); err != nil {
				return nil, nil, fault.From(err)
			}
		}
	}
}

// admit says whether the data may grow by one more record.
func (s *Service) admit(data *calibration.Data) error {
	most := s.deps.MaxRecords
	switch {
	case most == 0:
		return nil
	case data.Len() >= most:
		return fault.New(fault.TooManyItems, "record %d is one too many: a call takes at most %d (limits.max_records); use plumbline calibrate on a file for more",
			data.Len()+1, most)
	case data.Cells() > most*cellsPerRecord:
		return fault.New(fault.TooManyItems, "record %d: the records have too many different signals and arms for one call; use plumbline calibrate on a file",
			data.Len()+1)
	default:
		return nil
	}
}

// atRecord names the record, from 1, whose message breaks a rule of the schema.
// Records that data itself refuses are named by it.
func atRecord(err error, number int, isOptions bool) error {
	if isOptions {
		return err
	}
	broken := *fault.From(err)
	broken.Message = fmt.Sprintf("record %d: %s", number, broken.Message)
	return &broken
}
