package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/status"

	"plumbline/cmd/plumbline/internal/records"
	"plumbline/cmd/plumbline/internal/remote"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server"
	"plumbline/server/config"
	"plumbline/server/fault"
	"plumbline/server/service"
)

// connectTimeout lets a command begin while its server is still starting.
const connectTimeout = 10 * time.Second

// scorer answers requests: the service in this process, or a server.
type scorer interface {
	ScoreRetrieval(context.Context, *plumblinev1.ScoreRetrievalRequest) (*plumblinev1.ScoreRetrievalResponse, error)
	ScoreGrounding(context.Context, *plumblinev1.ScoreGroundingRequest) (*plumblinev1.ScoreGroundingResponse, error)
	ScoreConfidence(context.Context, *plumblinev1.ScoreConfidenceRequest) (*plumblinev1.ScoreConfidenceResponse, error)
	Decide(context.Context, *plumblinev1.DecideRequest) (*plumblinev1.DecideResponse, error)
	ListGates(context.Context, *plumblinev1.ListGatesRequest) (*plumblinev1.ListGatesResponse, error)
	Fit(context.Context, service.Source[plumblinev1.FitRequest]) (*plumblinev1.FitResponse, error)
	Evaluate(context.Context, service.Source[plumblinev1.EvaluateRequest]) (*plumblinev1.EvaluateResponse, error)
	Replay(context.Context, service.Source[plumblinev1.ReplayRequest]) (*plumblinev1.ReplayResponse, error)
}

// backend is a scorer with what a command needs to know of it.
type backend struct {
	scorer
	// maxMessageBytes bounds a record.
	maxMessageBytes int
	// Close frees the verifiers, or the connection. The process is about to end, so
	// that nobody can do anything about a failure.
	Close func()
}

// addSettings adds the flags of the settings whose keys begin with one of the
// prefixes, and --config.
func addSettings(flags *pflag.FlagSet, prefixes ...string) {
	all := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	config.Flags(all)
	for _, setting := range config.Settings() {
		for _, prefix := range prefixes {
			if strings.HasPrefix(setting.Key, prefix) {
				flags.AddFlag(all.Lookup(setting.Flag()))
			}
		}
	}
	flags.AddFlag(all.Lookup("config"))
}

// settings reads the settings for a command.
func settings(command *cobra.Command) (config.Config, error) {
	return config.Load(command.Flags(), os.Environ())
}

// open reaches the server that the options name; without one it builds the
// service in this process, with its verifiers only if needsVerifier.
func (a *app) open(command *cobra.Command, to remote.Options, needsVerifier bool) (*backend, error) {
	cfg, err := settings(command)
	if err != nil {
		return nil, err
	}
	if to.Addr != "" {
		to.MaxMessageBytes = cfg.Limits.MaxMessageBytes
		to.Waiting = func(reason string) { a.notice("plumbline: waiting for the server: " + reason) }
		conn, err := to.Dial(command.Context())
		if err != nil {
			return nil, err
		}
		return &backend{scorer: to.NewClient(conn), maxMessageBytes: cfg.Limits.MaxMessageBytes, Close: func() { _ = conn.Close() }}, nil
	}
	return a.openHere(command.Context(), cfg, needsVerifier)
}

func (a *app) openHere(ctx context.Context, cfg config.Config, needsVerifier bool) (*backend, error) {
	log := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	options := server.Options{Build: a.build, Log: log}
	// The bound protects a server from its clients; here the data are the
	// user's own.
	cfg.Limits.MaxRecords = 0
	if !needsVerifier {
		built, err := server.NewService(cfg, options)
		if err != nil {
			return nil, err
		}
		return &backend{scorer: built, maxMessageBytes: cfg.Limits.MaxMessageBytes, Close: func() {}}, nil
	}
	built, release, err := server.OpenService(ctx, cfg, options)
	if err != nil {
		return nil, err
	}
	return &backend{scorer: built, maxMessageBytes: cfg.Limits.MaxMessageBytes, Close: func() { _ = release() }}, nil
}

// failure is what a record's line and the user are told of an error, whether
// it came from this process or over the wire. The cause of a defect in this
// process goes to standard error, since no server logs it.
func (a *app) failure(err error) *plumblinev1.ItemError {
	if errors.Is(err, records.ErrInterrupted) {
		return records.Abandoned
	}
	if _, fromServer := status.FromError(err); fromServer {
		return remote.Item(err)
	}
	if e := fault.From(err); e.Reason == fault.Internal {
		fmt.Fprintln(a.err, "plumbline: a defect, please report it:", e)
	}
	return fault.Item(err)
}
