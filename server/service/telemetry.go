package service

import (
	"context"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
)

// Observe gathers one turn.
func (s *Service) Observe(_ context.Context, req *plumblinev1.ObserveRequest) (*plumblinev1.ObserveResponse, error) {
	if err := s.validate(req); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.NotImplemented, "telemetry is not wired yet")
}
