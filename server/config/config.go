// Package config has the server's settings: one typed struct, its defaults,
// and one way to fill it (see Load).
//
// A setting has the same name everywhere. "limits.max_message_bytes" of the
// configuration file is PLUMBLINE_LIMITS_MAX_MESSAGE_BYTES in the environment
// and --limits-max-message-bytes on the command line. Flags win over the
// environment, the environment over the file, the file over the defaults.
// plumbline.yaml beside this file lists every setting with its default.
package config

import (
	"log/slog"
	"time"
)

// Config is every setting of the server.
type Config struct {
	// GRPC is the listener for native gRPC.
	GRPC GRPC `koanf:"grpc"`
	// HTTP is the listener for Connect, gRPC-Web, JSON, health and metrics.
	HTTP HTTP `koanf:"http"`
	// Limits bound what one client can take.
	Limits Limits `koanf:"limits"`
	// Drain is the end of the process.
	Drain Drain `koanf:"drain"`
	// Log is the server's own log.
	Log Log `koanf:"log"`
	// Model is the embedded model.
	Model Model `koanf:"model"`
	// ONNXRuntime is the library that runs the model.
	ONNXRuntime ONNXRuntime `koanf:"onnxruntime"`
	// Verifier is what holds for all verifiers, and the engine over the model.
	Verifier Verifier `koanf:"verifier"`
	// Verifiers are the verifiers by name. AllVerifiers has the embedded one too
	// where nobody lists it.
	Verifiers map[string]NamedVerifier `koanf:"verifiers" doc:"verifiers to ask, beside or in place of embedded: name=address, repeatable as a flag, one a line in the environment; a file can say more of each (docs/verifiers.md)"`
	// Policies are the gates.
	Policies Policies `koanf:"policies"`
	// Subgoals is what Observe remembers between turns.
	Subgoals Subgoals `koanf:"subgoals"`
	// Reflection says whether both listeners offer gRPC reflection.
	Reflection bool `koanf:"reflection" doc:"offer gRPC server reflection on both listeners"`
	// Metrics says whether the HTTP listener offers /metrics.
	Metrics bool `koanf:"metrics" doc:"offer Prometheus metrics at /metrics of the HTTP listener"`
}

// GRPC is the listener for native gRPC.
type GRPC struct {
	// Addr is host:port; empty turns the listener off.
	Addr string `koanf:"addr" doc:"host:port of native gRPC; empty turns it off"`
	// TLS is off without a certificate.
	TLS TLS `koanf:"tls"`
	// Keepalive finds dead connections and refuses pushy clients.
	Keepalive Keepalive `koanf:"keepalive"`
}

// Keepalive is HTTP/2's ping on the gRPC listener.
type Keepalive struct {
	// Time is how long a connection is silent before the server pings.
	Time time.Duration `koanf:"time" doc:"ping a gRPC connection that was silent this long"`
	// Timeout is how long the server waits for the ping's answer.
	Timeout time.Duration `koanf:"timeout" doc:"close a gRPC connection that leaves a ping unanswered this long"`
	// MinTime is the least time between a client's own pings.
	MinTime time.Duration `koanf:"min_time" doc:"close a gRPC connection whose client pings more often than this"`
}

// HTTP is the listener for Connect, gRPC-Web, gRPC over HTTP, and JSON.
type HTTP struct {
	// Addr is host:port; empty turns the listener off.
	Addr string `koanf:"addr" doc:"host:port of Connect, gRPC-Web, JSON, health and metrics; empty turns it off"`
	// TLS is off without a certificate.
	TLS TLS `koanf:"tls"`
	// ReadHeaderTimeout cuts clients that dribble their headers.
	ReadHeaderTimeout time.Duration `koanf:"read_header_timeout" doc:"close an HTTP connection whose request headers take longer"`
	// IdleTimeout closes kept-alive connections.
	IdleTimeout time.Duration `koanf:"idle_timeout" doc:"close an HTTP connection that had no request this long"`
	// CORSOrigins are the web pages that may call from a browser.
	CORSOrigins []string `koanf:"cors_origins" doc:"origins whose web pages may call, such as https://app.example; * means all; comma-separated in flags and environment"`
}

// TLS names the PEM files of a listener. They are read again when they change.
type TLS struct {
	// CertFile is the certificate chain; empty means no TLS.
	CertFile string `koanf:"cert_file" doc:"PEM file of the certificate chain; empty means plain text"`
	// KeyFile is the certificate's private key.
	KeyFile string `koanf:"key_file" doc:"PEM file of the private key"`
	// ClientCAFile makes client certificates mandatory (mutual TLS).
	ClientCAFile string `koanf:"client_ca_file" doc:"PEM file of the authorities that client certificates must come from; empty asks for none"`
}

// Enabled says whether the listener speaks TLS.
func (t TLS) Enabled() bool { return t.CertFile != "" }

// Limits bound what one client can take.
type Limits struct {
	// MaxMessageBytes bounds a received message after decompression.
	MaxMessageBytes int `koanf:"max_message_bytes" doc:"largest message received, in bytes after decompression"`
	// MaxConcurrentStreams bounds the calls of one HTTP/2 connection.
	MaxConcurrentStreams uint32 `koanf:"max_concurrent_streams" doc:"most concurrent calls of one HTTP/2 connection"`
	// MaxConcurrentCalls bounds the calls with one response that a service works on at
	// once; 0 means four for each processor.
	MaxConcurrentCalls int `koanf:"max_concurrent_calls" doc:"most calls with one response that one service works on at once; 0 means 4 for each processor"`
	// MaxOpenStreams bounds the open streaming calls of the process.
	MaxOpenStreams int `koanf:"max_open_streams" doc:"most streaming calls that are open at once in the process"`
	// AdmissionWait is how long a call waits for a place before it is refused.
	AdmissionWait time.Duration `koanf:"admission_wait" doc:"how long a call waits for a place before RESOURCE_EXHAUSTED"`
	// DefaultDeadline is the deadline of unary calls that come without one.
	DefaultDeadline time.Duration `koanf:"default_deadline" doc:"deadline of a unary call that states none"`
	// MaxRecords bounds the records that one calibration call holds.
	MaxRecords int `koanf:"max_records" doc:"most records of one calibration call, which holds them in memory"`
	// MaxDeadline caps the deadline of a unary call. A stream may stay open as
	// long as its client likes; keepalive finds the dead ones.
	MaxDeadline time.Duration `koanf:"max_deadline" doc:"longest deadline of a unary call; streams keep their client's"`
}

// Drain is the end of the process.
type Drain struct {
	// Grace is how long calls in flight may still take after the signal.
	Grace time.Duration `koanf:"grace" doc:"how long calls in flight may take after the stop signal"`
}

// Log is the server's own log, on standard error.
type Log struct {
	// Level is the least level that is written.
	Level slog.Level `koanf:"level" doc:"least level written: debug, info, warn or error"`
	// Format is LogJSON or LogText.
	Format string `koanf:"format" doc:"json or text"`
}

// The log's formats.
const (
	LogJSON = "json"
	LogText = "text"
)

// Model is the embedded model.
type Model struct {
	// Dir is the folder of a model; empty means the one that is compiled in.
	Dir string `koanf:"dir" doc:"folder of the embedded verifier's model; empty means the model compiled in"`
}

// ONNXRuntime is the library that runs the model.
type ONNXRuntime struct {
	// Lib is the library's path; empty means the usual places.
	Lib string `koanf:"lib" doc:"path of the ONNX Runtime library; empty means the usual places"`
}

// Verifier is what holds for all verifiers, and the engine over the model.
type Verifier struct {
	// Default names the verifier of requests that name none.
	Default string `koanf:"default" doc:"name of the verifier that answers requests which name none"`
	// Workers run the model at once; 0 means one for each processor.
	Workers int `koanf:"workers" doc:"pairs that the model scores at once; 0 means one for each processor"`
	// CacheBytes bounds each verifier's cache of scored pairs; 0 turns it off.
	CacheBytes int64 `koanf:"cache_bytes" doc:"bytes for each verifier's cache of scored pairs; 0 turns it off"`
	// MaxCalls bounds the calls that are inside the engine, waiting or running.
	MaxCalls int `koanf:"max_calls" doc:"most calls inside the embedded verifier at once; more wait up to 10s and are then refused"`
	// FailMode is FailClosed or FailOpen.
	FailMode string `koanf:"fail_mode" doc:"values when no verifier can be asked: closed (STATUS_VERIFIER_UNAVAILABLE) or open (STATUS_NOT_CHECKED)"`
}

// The fail modes.
const (
	FailClosed = "closed"
	FailOpen   = "open"
)

// Policies are the gates.
type Policies struct {
	// Dir is a folder of policy files; empty means the built-in ones only.
	Dir string `koanf:"dir" doc:"folder of policy files beside the built-in policies; empty means none"`
}

// Subgoals is what Observe remembers between turns.
type Subgoals struct {
	// Max is how many subgoals are kept; the least recently used one goes.
	Max int `koanf:"max" doc:"subgoals that Observe remembers"`
	// TTL is how long a subgoal is kept after its confidence was computed.
	TTL time.Duration `koanf:"ttl" doc:"how long Observe remembers a subgoal's confidence after it was computed"`
}

// Default returns the settings of a server that was told nothing.
func Default() Config {
	return Config{
		GRPC: GRPC{
			Addr:      ":50051",
			Keepalive: Keepalive{Time: 2 * time.Minute, Timeout: 20 * time.Second, MinTime: 10 * time.Second},
		},
		HTTP: HTTP{
			Addr:              ":8080",
			ReadHeaderTimeout: 5 * time.Second,
			IdleTimeout:       2 * time.Minute,
		},
		Limits: Limits{
			MaxMessageBytes:      16 << 20,
			MaxConcurrentStreams: 100,
			MaxOpenStreams:       256,
			AdmissionWait:        25 * time.Millisecond,
			DefaultDeadline:      30 * time.Second,
			MaxRecords:           200_000,
			MaxDeadline:          10 * time.Minute,
		},
		Drain:      Drain{Grace: 25 * time.Second},
		Log:        Log{Level: slog.LevelInfo, Format: LogJSON},
		Verifier:   Verifier{Default: Embedded, CacheBytes: 64 << 20, MaxCalls: 256, FailMode: FailClosed},
		Subgoals:   Subgoals{Max: 10_000, TTL: 30 * time.Minute},
		Reflection: true,
		Metrics:    true,
	}
}
