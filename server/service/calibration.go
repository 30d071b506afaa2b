package service

import (
	"context"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
)

// calibrationReason is why CalibrationService does not answer.
const calibrationReason = "calibration over rpc is not implemented; plumbline calibrate does it on the command line"

// Fit answers NOT_IMPLEMENTED.
func (s *Service) Fit(context.Context, Source[plumblinev1.FitRequest]) (*plumblinev1.FitResponse, error) {
	return nil, fault.New(fault.NotImplemented, calibrationReason)
}

// Evaluate answers NOT_IMPLEMENTED.
func (s *Service) Evaluate(context.Context, Source[plumblinev1.EvaluateRequest]) (*plumblinev1.EvaluateResponse, error) {
	return nil, fault.New(fault.NotImplemented, calibrationReason)
}

// Replay answers NOT_IMPLEMENTED.
func (s *Service) Replay(context.Context, Source[plumblinev1.ReplayRequest]) (*plumblinev1.ReplayResponse, error) {
	return nil, fault.New(fault.NotImplemented, calibrationReason)
}
