// Package remote is the command line as a gRPC client of a running server.
package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/service"
)

// Options say how to reach a server.
type Options struct {
	// Addr is host:port of native gRPC; empty means no server.
	Addr string
	// TLS turns TLS on with the system's authorities. Any of the names below
	// turns it on as well.
	TLS bool
	// CAFile are the authorities to trust in place of the system's.
	CAFile string
	// CertFile and KeyFile are the client's certificate, for servers that ask
	// for one.
	CertFile, KeyFile string
	// ServerName is the name to expect in the server's certificate, if it is
	// not the host of Addr.
	ServerName string
	// ConnectTimeout is how long the server may take to be reached at first.
	ConnectTimeout time.Duration
	// MaxMessageBytes bounds a message in either direction.
	MaxMessageBytes int
	// Parallel is how many calls a client has in flight at most; 0 means one.
	Parallel int
	// Waiting, if set, is told now and then why calls have been waiting for long.
	Waiting func(reason string)
}

// Flags adds the flags of the options, but for the message size, which is a
// setting. connectTimeout is the default of its flag.
func (o *Options) Flags(flags *pflag.FlagSet, connectTimeout time.Duration) {
	flags.StringVar(&o.Addr, "addr", "", "`HOST:PORT` of a running server's gRPC listener")
	flags.BoolVar(&o.TLS, "tls", false, "use TLS with the system's authorities; each of the --tls-… flags implies it")
	flags.StringVar(&o.CAFile, "tls-ca", "", "PEM `FILE` of the authorities to trust in place of the system's")
	flags.StringVar(&o.CertFile, "tls-cert", "", "PEM `FILE` of the client's certificate")
	flags.StringVar(&o.KeyFile, "tls-key", "", "PEM `FILE` of the client's private key")
	flags.StringVar(&o.ServerName, "tls-server-name", "", "`NAME` to expect in the server's certificate")
	flags.DurationVar(&o.ConnectTimeout, "connect-timeout", connectTimeout, "how long the server may take to be reached")
}

// streamRetries are gRPC's own, for streams, which call cannot make again. They are
// made where the server did no work: it was not reached, is shutting down, or refused
// for load. Servers say when to come back.
const streamRetries = `{"methodConfig": [{"name": [{"service": "plumbline.v1.CalibrationService"}], "retryPolicy": {
	"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "5s", "backoffMultiplier": 2,
	"retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}`

// Dial connects to the server and waits until it answers.
func (o Options) Dial(ctx context.Context) (*grpc.ClientConn, error) {
	creds, err := o.credentials()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(streamRetries),
		// By default a server that was away for long is looked for every two minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           grpcbackoff.Config{BaseDelay: firstWait, Multiplier: 1.6, Jitter: 0.2, MaxDelay: longestWait},
			MinConnectTimeout: o.ConnectTimeout,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
	}
	if o.MaxMessageBytes > 0 {
		options = append(options, grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(o.MaxMessageBytes), grpc.MaxCallSendMsgSize(o.MaxMessageBytes)))
	}
	conn, err := grpc.NewClient(o.Addr, options...)
	if err != nil {
		return nil, fmt.Errorf("--addr %s: %w", o.Addr, err)
	}
	if _, err := o.Health(ctx, conn, ""); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Health asks how a service is, or the whole server where name is empty. A server without the
// health service is taken as serving.
func (o Options) Health(ctx context.Context, conn *grpc.ClientConn, name string) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	response, err := grpc_health_v1.NewHealthClient(conn).
		Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: name}, grpc.WaitForReady(true))
	switch status.Code(err) {
	case codes.OK:
		return response.GetStatus(), nil
	case codes.Unimplemented:
		return grpc_health_v1.HealthCheckResponse_SERVING, nil
	case codes.DeadlineExceeded:
		return 0, fmt.Errorf("no server answers at %s within %s: %s", o.Addr, o.ConnectTimeout, status.Convert(err).Message())
	default:
		return 0, fmt.Errorf("%s: %s", o.Addr, status.Convert(err).Message())
	}
}

func (o Options) credentials() (credentials.TransportCredentials, error) {
	if !o.TLS && o.CAFile == "" && o.CertFile == "" && o.KeyFile == "" && o.ServerName == "" {
		return insecure.NewCredentials(), nil
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.ServerName}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--tls-ca: %s has no PEM certificate", o.CAFile)
		}
	}
	if o.CertFile != "" || o.KeyFile != "" {
		certificate, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		settings.Certificates = []tls.Certificate{certificate}
	}
	return credentials.NewTLS(settings), nil
}

// Item is the failure of a call as the item of a batch would have it.
func Item(err error) *plumblinev1.ItemError {
	st := statusOf(err)
	item := &plumblinev1.ItemError{Code: code.Code(st.Code()).String(), Message: st.Message()}
	for _, detail := range st.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			item.Reason = detail.GetReason()
		case *errdetails.BadRequest:
			if violations := detail.GetFieldViolations(); len(violations) > 0 {
				item.Field = violations[0].GetField()
			}
		}
	}
	return item
}

// statusOf is the status that the server sent. What gRPC wraps around it, such as how
// often it has tried, is left out, which status.Convert puts into the message.
func statusOf(err error) *status.Status {
	if sent, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		return sent.GRPCStatus()
	}
	return status.Convert(err)
}

// Client calls a server's services with the signatures of the service in
// process.
type Client struct {
	caller      *caller
	retrieval   plumblinev1.RetrievalServiceClient
	grounding   plumblinev1.GroundingServiceClient
	confidence  plumblinev1.ConfidenceServiceClient
	gate        plumblinev1.GateServiceClient
	calibration plumblinev1.CalibrationServiceClient
}

// NewClient returns a client over a connection.
func (o Options) NewClient(conn grpc.ClientConnInterface) *Client {
	return &Client{
		caller:      newCaller(o),
		retrieval:   plumblinev1.NewRetrievalServiceClient(conn),
		grounding:   plumblinev1.NewGroundingServiceClient(conn),
		confidence:  plumblinev1.NewConfidenceServiceClient(conn),
		gate:        plumblinev1.NewGateServiceClient(conn),
		calibration: plumblinev1.NewCalibrationServiceClient(conn),
	}
}

// ScoreRetrieval calls RetrievalService.
func (c *Client) ScoreRetrieval(ctx context.Context, req *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error) {
	return call(ctx, c.caller, req, c.retrieval.ScoreRetrieval)
}

// ScoreGrounding calls GroundingService.
func (c *Client) ScoreGrounding(ctx context.Context, req *plumblinev1.ScoreGroundingRequest) (*plumblinev1.ScoreGroundingResponse, error) {
	return call(ctx, c.caller, req, c.grounding.ScoreGrounding)
}

// ScoreConfidence calls ConfidenceService.
func (c *Client) ScoreConfidence(ctx context.Context, req *plumblinev1.ScoreConfidenceRequest) (*plumblinev1.ScoreConfidenceResponse, error) {
	return call(ctx, c.caller, req, c.confidence.ScoreConfidence)
}

// Decide calls GateService.
func (c *Client) Decide(ctx context.Context, req *plumblinev1.DecideRequest) (*plumblinev1.DecideResponse, error) {
	return call(ctx, c.caller, req, c.gate.Decide)
}

// ListGates calls GateService.
func (c *Client) ListGates(ctx context.Context, req *plumblinev1.ListGatesRequest) (*plumblinev1.ListGatesResponse, error) {
	return call(ctx, c.caller, req, c.gate.ListGates)
}

// Fit calls CalibrationService with the frames of the source.
func (c *Client) Fit(ctx context.Context, source service.Source[plumblinev1.FitRequest]) (*plumblinev1.FitResponse, error) {
	return collect(ctx, source, c.calibration.Fit)
}

// Evaluate calls CalibrationService with the frames of the source.
func (c *Client) Evaluate(ctx context.Context, source service.Source[plumblinev1.EvaluateRequest]) (*plumblinev1.EvaluateResponse, error) {
	return collect(ctx, source, c.calibration.Evaluate)
}

// Replay calls CalibrationService with the frames of the source.
func (c *Client) Replay(ctx context.Context, source service.Source[plumblinev1.ReplayRequest]) (*plumblinev1.ReplayResponse, error) {
	return collect(ctx, source, c.calibration.Replay)
}

// collect sends all frames of a source and receives the answer.
func collect[Req, Res any](
	ctx context.Context, source service.Source[Req],
	open func(context.Context, ...grpc.CallOption) (grpc.ClientStreamingClient[Req, Res], error),
) (*Res, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // a source that fails must not leave the call open
	stream, err := open(ctx)
	if err != nil {
		return nil, err
	}
	for {
		frame, err := source.Recv()
		if errors.Is(err, io.EOF) {
			return stream.CloseAndRecv()
		}
		if err != nil {
			return nil, err
		}
		// After an early refusal sending fails with io.EOF; why is in the answer.
		if err := stream.Send(frame); errors.Is(err, io.EOF) {
			return stream.CloseAndRecv()
		} else if err != nil {
			return nil, err
		}
	}
}
