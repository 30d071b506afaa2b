package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/health/grpc_health_v1"

	"plumbline/cmd/plumbline/internal/remote"
)

// healthTimeout is short: probes are asked often and must not pile up.
const healthTimeout = 2 * time.Second

func newHealth(a *app) *cobra.Command {
	var to remote.Options
	var service string
	command := &cobra.Command{
		Use:   "health",
		Short: "Ask a running server whether it can score",
		Long: `Health asks the gRPC health service and prints its answer. It is made for probes,
such as a container's. Without --addr it asks the server on this machine at the
port of the setting grpc.addr.

Exit codes: 0 serving; 1 not serving, or not reached; 2 wrong usage.`,
		Example: `  plumbline health
  plumbline health --addr localhost:50051 --service plumbline.v1.GroundingService`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if to.Addr == "" {
				cfg, err := settings(command)
				if err != nil {
					return err
				}
				to.Addr = localAddr(cfg.GRPC.Addr)
			}
			return a.health(command, to, service)
		},
	}
	to.Flags(command.Flags(), healthTimeout)
	addSettings(command.Flags(), "grpc.addr")
	command.Flags().StringVar(&service, "service", "", "full `NAME` of one service; empty asks for the whole server")
	return command
}

func (a *app) health(command *cobra.Command, to remote.Options, service string) error {
	conn, err := to.Dial(command.Context())
	if err != nil {
		fmt.Fprintln(a.err, "plumbline:", err)
		return &ended{exitSomeFailed}
	}
	defer func() { _ = conn.Close() }()
	status, err := to.Health(command.Context(), conn, service)
	if err != nil {
		fmt.Fprintln(a.err, "plumbline:", err)
		return &ended{exitSomeFailed}
	}
	fmt.Fprintln(a.out, status)
	if status != grpc_health_v1.HealthCheckResponse_SERVING {
		return &ended{exitSomeFailed}
	}
	return nil
}
