package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"plumbline/server"
	"plumbline/server/config"
)

func newVerifier(a *app) *cobra.Command {
	var listen string
	command := &cobra.Command{
		Use:   "verifier",
		Short: "Serve the embedded model alone, for other servers to ask",
		Long: `Verifier serves VerifierService (with InfoService, health and reflection) over
native gRPC and nothing else, so that hosts of the model and servers that score
can be scaled apart. It stops as "plumbline serve" does.

Exit codes: 0 stopped as asked; 2 wrong usage, or it could not start.`,
		Example: `  plumbline verifier --listen 127.0.0.1:50061
  plumbline verifier --listen :50061 --verifier-workers 8`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			cfg, err := settings(command)
			if err != nil {
				return err
			}
			cfg.GRPC.Addr, cfg.HTTP.Addr = listen, ""
			if err := cfg.Validate(); err != nil {
				return fmt.Errorf("--listen: %w", err)
			}
			return a.serve(command, cfg, server.Options{Build: a.build, VerifierOnly: true}, announceVerifier)
		},
	}
	command.Flags().StringVar(&listen, "listen", "", "`HOST:PORT` to listen on")
	_ = command.MarkFlagRequired("listen") // fails only for a flag that is not there
	addSettings(command.Flags(), "grpc.tls", "grpc.keepalive", "limits.", "drain.", "log.", "model.", "onnxruntime.", "verifier.", "reflection")
	return command
}

func announceVerifier(w io.Writer, cfg config.Config, running *server.Server) {
	at := localAddr(running.GRPCAddr().String())
	plain := " -plaintext"
	if cfg.GRPC.TLS.Enabled() {
		plain = ""
	}
	fmt.Fprintf(w, "VerifierService at %s. Try it:\n  grpcurl%s %s plumbline.v1.VerifierService/Describe\n", at, plain, at)
}
