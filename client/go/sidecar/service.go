package sidecar

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/server/fault"
	"plumbline/server/service"
)

// adapter is VerifierService over grpc-go.
type adapter struct {
	plumblinev1.UnimplementedVerifierServiceServer
	service *service.Service
}

// Describe implements plumblinev1.VerifierServiceServer.
func (a adapter) Describe(ctx context.Context, req *plumblinev1.DescribeRequest) (res *plumblinev1.DescribeResponse, err error) {
	err = guarded(func() (err error) {
		res, err = a.service.Describe(ctx, req)
		return err
	})
	return res, err
}

// Verify implements plumblinev1.VerifierServiceServer.
func (a adapter) Verify(stream grpc.BidiStreamingServer[plumblinev1.VerifyRequest, plumblinev1.VerifyResponse]) error {
	return guarded(func() error { return a.service.Verify(stream.Context(), stream) })
}

// identified fills in which model answered, where the verifier leaves that out.
type identified struct{ entail.Verifier }

// Verify implements entail.Verifier.
func (v identified) Verify(ctx context.Context, pairs []entail.Pair) (entail.Batch, error) {
	batch, err := v.Verifier.Verify(ctx, pairs)
	if err != nil || batch.Usage.Digest != "" {
		return batch, err
	}
	description, err := v.Describe(ctx)
	if err != nil {
		return entail.Batch{}, err
	}
	batch.Usage.Verifier, batch.Usage.Digest = description.Name, description.Digest
	return batch, nil
}

// guarded makes a panic the failure of one call, and an error a status.
func guarded(call func() error) error {
	if err := fault.Guard(call); err != nil {
		return fault.From(err).Status().Err()
	}
	return nil
}

const (
	// probeInterval and probeTimeout are as on a Plumbline server.
	probeInterval = 400 * time.Millisecond
	probeTimeout  = 5 * time.Second
)

// healthService ends watches with the server, since they would keep a graceful
// stop waiting for as long as the client likes.
type healthService struct {
	*health.Server
	stopping context.Context //nolint:containedctx // its end is what this type is about
}

func newHealth(stopping context.Context) healthService {
	h := healthService{Server: health.NewServer(), stopping: stopping}
	h.set(healthpb.HealthCheckResponse_NOT_SERVING)
	return h
}

func (h healthService) set(status healthpb.HealthCheckResponse_ServingStatus) {
	h.SetServingStatus("", status)
	h.SetServingStatus(plumblinev1.VerifierService_ServiceDesc.ServiceName, status)
}

// follow makes health what the verifier's Probe says, if it has one.
func (h healthService) follow(ctx context.Context, verifier entail.Verifier) {
	prober, ok := verifier.(interface {
		Probe(ctx context.Context) error
	})
	if !ok {
		h.set(healthpb.HealthCheckResponse_SERVING)
		return
	}
	for ctx.Err() == nil {
		probing, cancel := context.WithTimeout(ctx, probeTimeout)
		status := healthpb.HealthCheckResponse_SERVING
		if fault.Guard(func() error { return prober.Probe(probing) }) != nil {
			status = healthpb.HealthCheckResponse_NOT_SERVING
		}
		cancel()
		h.set(status)
		select {
		case <-ctx.Done():
		case <-time.After(probeInterval):
		}
	}
}

// Watch implements healthpb.HealthServer.
func (h healthService) Watch(req *healthpb.HealthCheckRequest, stream healthpb.Health_WatchServer) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(h.stopping, cancel)()
	return h.Server.Watch(req, watchStream{stream, ctx})
}

// watchStream is a stream with another context.
type watchStream struct {
	healthpb.Health_WatchServer
	ctx context.Context //nolint:containedctx // grpc.ServerStream hands its context out.
}

// Context implements grpc.ServerStream.
func (s watchStream) Context() context.Context { return s.ctx }
