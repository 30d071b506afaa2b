package remote

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // the client's side of health checking
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

const (
	// serviceConfig lets calls take turns over the replicas whose health service
	// says SERVING. It is asked for the whole server, the one name that every
	// health service knows; a server without one counts as healthy.
	serviceConfig = `{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": ""}}`
	// maxReplyBytes bounds a message that is received.
	maxReplyBytes = 16 << 20
	// pingTime may not be less than five minutes: a gRPC server that was told
	// nothing else closes connections that ping more often.
	pingTime = 5*time.Minute + 10*time.Second
	// pingTimeout also bounds how long sent bytes may stay unacknowledged (TCP
	// user timeout), by which a peer that vanished is found.
	pingTimeout = 20 * time.Second
)

// reconnect is quick, because a sidecar that was restarted is back at once.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
	MinConnectTimeout: 5 * time.Second,
}

// Parse checks an address and returns the configuration that asks it.
func Parse(address string) (Config, error) {
	if _, _, err := locate(address); err != nil {
		return Config{}, err
	}
	return Config{Address: address}, nil
}

// locate takes an address apart: the scheme, and the hosts of one that has hosts.
func locate(address string) (scheme string, hosts []string, err error) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch {
	case scheme == "unix" && rest != "":
		return scheme, nil, nil
	case scheme == "grpc" || scheme == "grpcs":
		hosts, err := split(strings.TrimPrefix(rest, "//"))
		if err != nil {
			return "", nil, fmt.Errorf("verifier address %q: %w", address, err)
		}
		return scheme, hosts, nil
	default:
		return "", nil, fmt.Errorf("verifier address %q: write it as grpc://host:port, grpcs://host:port or unix:/path", address)
	}
}

// dial returns the target and the options of the connection.
func dial(config Config) (target string, options []grpc.DialOption, err error) {
	scheme, hosts, err := locate(config.Address)
	if err != nil {
		return "", nil, err
	}
	transport := insecure.NewCredentials()
	if scheme == "grpcs" {
		if transport, err = config.TLS.credentials(); err != nil {
			return "", nil, fmt.Errorf("verifier address %q: %w", config.Address, err)
		}
	}
	options = []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithDisableServiceConfig(), // nobody who owns a DNS zone sets policy here
		grpc.WithConnectParams(reconnect),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingTime, Timeout: pingTimeout}),
		grpc.WithUserAgent("plumbline"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReplyBytes)),
	}
	switch len(hosts) {
	case 0:
		return config.Address, options, nil // a socket, which gRPC knows
	case 1:
		return "dns:///" + hosts[0], options, nil
	default:
		list := listed(hosts)
		return list.Scheme() + ":///verifier", append(options, grpc.WithResolvers(list)), nil
	}
}

// split takes a list of host:port apart.
func split(list string) ([]string, error) {
	hosts := strings.Split(list, ",")
	for _, hostport := range hosts {
		if host, port, err := net.SplitHostPort(hostport); err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("%q is not host:port", hostport)
		}
	}
	return hosts, nil
}

// listed resolves to the hosts of a list; each proves its own name.
func listed(hosts []string) *manual.Resolver {
	list := manual.NewBuilderWithScheme("list")
	var state resolver.State
	for _, hostport := range hosts {
		host, _, _ := net.SplitHostPort(hostport) // checked by split
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{
			Addresses: []resolver.Address{{Addr: hostport, ServerName: host}},
		})
	}
	list.InitialState(state)
	return list
}

// credentials reads the files once, so that a mistake is known at the start.
func (t TLS) credentials() (credentials.TransportCredentials, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("authorities: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("authorities: %s has no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile == "" && t.KeyFile == "" {
		return credentials.NewTLS(config), nil
	}
	if _, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile); err != nil {
		return nil, fmt.Errorf("client certificate: %w", err)
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		return &pair, err
	}
	return credentials.NewTLS(config), nil
}
