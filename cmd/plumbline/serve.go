package main

import (
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"

	"plumbline/server"
	"plumbline/server/config"
)

func newServe(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `Serve answers native gRPC on one port and Connect, gRPC-Web, gRPC and JSON over
HTTP on another, until it is told to stop: the first SIGINT or SIGTERM lets the
calls in flight finish, the second does not. SIGHUP opens the embedded model
anew from its folder and exchanges it while calls go on. The log goes to
standard error.

Every flag is also a line of the file that --config names and a PLUMBLINE_…
variable; "plumbline config" shows what is in force.

Exit codes: 0 stopped as asked; 2 wrong usage, or the server could not start.`,
		Example: `  plumbline serve
  plumbline serve --grpc-addr 127.0.0.1:50051 --http-addr 127.0.0.1:8080
  plumbline serve --config plumbline.yaml --log-level debug
  PLUMBLINE_HTTP_ADDR=:80 plumbline serve`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			cfg, err := settings(command)
			if err != nil {
				return err
			}
			return a.serve(command, cfg, server.Options{Build: a.build}, announceServer)
		},
	}
	config.Flags(command.Flags())
	return command
}

// serve runs a server until it is told to stop.
func (a *app) serve(command *cobra.Command, cfg config.Config, options server.Options, announce func(io.Writer, config.Config, *server.Server)) error {
	hangups := server.CatchHangups()
	defer hangups.Release()
	running, err := server.Complete(command.Context(), cfg, options)
	if err != nil {
		return err
	}
	hangups.Each(func() {
		_ = running.Reload(command.Context()) // the log tells what became of it
	})
	announce(a.out, cfg, running)
	return running.Run(command.Context(), a.force)
}

// sample is a request that every server can answer.
const sample = `{"question":"When did the bridge open?","rankings":[{"name":"dense","score_kind":"SCORE_KIND_COSINE","items":[{"id":"a","score":0.82},{"id":"b","score":0.61},{"id":"c","score":0.6}]}]}`

// announceServer says where the server listens and how to try it.
func announceServer(w io.Writer, cfg config.Config, running *server.Server) {
	if addr := running.GRPCAddr(); addr != nil {
		at := localAddr(addr.String())
		plain, secure := " -plaintext", ""
		if cfg.GRPC.TLS.Enabled() {
			plain, secure = "", " --tls"
		}
		fmt.Fprintf(w, "gRPC at %s. Try it:\n", at)
		fmt.Fprintf(w, "  echo '%s' | plumbline score retrieval --addr %s%s\n", sample, at, secure)
		fmt.Fprintf(w, "  grpcurl%s -d '%s' %s plumbline.v1.RetrievalService/ScoreRetrieval\n", plain, sample, at)
	}
	if addr := running.HTTPAddr(); addr != nil {
		scheme := "http"
		if cfg.HTTP.TLS.Enabled() {
			scheme = "https"
		}
		url := scheme + "://" + localAddr(addr.String())
		fmt.Fprintf(w, "HTTP (Connect, gRPC-Web, gRPC, JSON) at %s. Try it:\n", url)
		fmt.Fprintf(w, "  curl -H 'Content-Type: application/json' -d '%s' %s/plumbline.v1.RetrievalService/ScoreRetrieval\n", sample, url)
		fmt.Fprintf(w, "  curl %s/readyz\n", url)
	}
}

// localAddr is where this machine calls a listener: one on all interfaces is
// called at localhost.
func localAddr(listener string) string {
	host, port, err := net.SplitHostPort(listener)
	if err != nil {
		return listener
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
