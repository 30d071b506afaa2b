package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumbline/client/go/sidecar"
	"plumbline/server"
	"plumbline/server/config"
	"plumbline/verifiers/spawn/handshake"
)

func newVerifier(a *app) *cobra.Command {
	var listen string
	command := &cobra.Command{
		Use:   "verifier",
		Short: "Serve the embedded model alone, for other servers to ask",
		Long: `Verifier serves VerifierService (with InfoService, health and reflection) over
native gRPC and nothing else, so that hosts of the model and servers that score
can be scaled apart. It stops as "plumbline serve" does.

A server that has it as the verifier "exec:plumbline verifier" starts it by
itself; it then answers that server alone, over a private socket.

Exit codes: 0 stopped as asked; 2 wrong usage, or it could not start.`,
		Example: `  plumbline verifier --listen 127.0.0.1:50061
  plumbline verifier --listen :50061 --verifier-workers 8`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			cfg, err := config.Load(command.Flags(), withoutHandshake(os.Environ()))
			if err != nil {
				return err
			}
			// Of a file that describes a whole server, too, this is the host alone.
			cfg.Verifier.Default, cfg.Verifiers = config.Embedded, nil
			if handshake.Spawned() {
				return serveHost(command.Context(), cfg)
			}
			if listen == "" {
				return errors.New("--listen is missing: say where to listen")
			}
			cfg.GRPC.Addr, cfg.HTTP.Addr = listen, ""
			if err := cfg.Validate(); err != nil {
				return fmt.Errorf("--listen: %w", err)
			}
			return a.serve(command, cfg, server.Options{Build: a.build, VerifierOnly: true}, announceVerifier)
		},
	}
	command.Flags().StringVar(&listen, "listen", "", "`HOST:PORT` to listen on")
	addSettings(command.Flags(), "grpc.tls", "grpc.keepalive", "limits.", "drain.", "log.", "model.", "onnxruntime.",
		"verifier.workers", "verifier.cache_bytes", "verifier.max_calls", "reflection")
	command.AddCommand(newVerifierCheck(a))
	return command
}

// withoutHandshake is the environment without what a host says in it, which is
// no setting.
func withoutHandshake(environ []string) []string {
	return slices.DeleteFunc(environ, func(variable string) bool { return strings.HasPrefix(variable, handshake.EnvPrefix) })
}

// serveHost serves the model to the server that started this process.
func serveHost(ctx context.Context, cfg config.Config) (err error) {
	log := server.NewLog(cfg.Log)
	engine, err := server.OpenEngine(cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	return sidecar.Serve(ctx, engine, sidecar.Config{MaxMessageBytes: cfg.Limits.MaxMessageBytes, Log: log})
}

func announceVerifier(w io.Writer, cfg config.Config, running *server.Server) {
	at := localAddr(running.GRPCAddr().String())
	plain := " -plaintext"
	if cfg.GRPC.TLS.Enabled() {
		plain = ""
	}
	fmt.Fprintf(w, "VerifierService at %s. Try it:\n  grpcurl%s %s plumbline.v1.VerifierService/Describe\n", at, plain, at)
}
