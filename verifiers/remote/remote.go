// Package remote asks a verifier in another process: the client of
// VerifierService over gRPC, with or without TLS, and over a Unix socket.
//
// The other side is not trusted to keep its contract. A reply that breaks it is
// a ProtocolError for the whole call, because nothing else of that reply can be
// believed either.
package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/verifiers/internal/deadline"
)

// DefaultMaxMessageBytes bounds a message that is sent: what a gRPC server
// receives unless it was told otherwise.
const DefaultMaxMessageBytes = 4 << 20

// Config says which verifier to ask.
type Config struct {
	// Address is grpc://host:port[,host:port…], grpcs://host:port[,…], or
	// unix:/path/of/the/socket. A single host name is looked up again and again,
	// and calls take turns over all the addresses that it has.
	Address string
	// TLS is for grpcs.
	TLS TLS
	// MaxMessageBytes bounds a message that is sent: a pair that is larger is
	// refused here, as too long. 0 means DefaultMaxMessageBytes.
	MaxMessageBytes int
	// Options are added to those of the connection.
	Options []grpc.DialOption
}

// TLS says whom to trust and who we are. The zero value trusts the system's
// authorities and shows no certificate.
type TLS struct {
	// CAFile is a PEM file of the authorities to trust in place of the system's.
	CAFile string
	// CertFile and KeyFile are our certificate and its key, both in PEM, for
	// servers that ask for one. They are read at each handshake, so that they
	// can be renewed.
	CertFile, KeyFile string
}

// Verifier is a verifier in another process. It implements entail.Verifier and
// is safe for concurrent use.
type Verifier struct {
	conn     *grpc.ClientConn
	client   plumblinev1.VerifierServiceClient
	maxBytes int
	closed   atomic.Bool

	mu sync.Mutex
	// known are descriptions by digest: replicas of one address may hold
	// different models while a new one is rolled out.
	known map[string]entail.Description
	// latest is the digest that was described or answered last; empty before.
	latest string
}

// Open prepares the connection and begins to establish it. It does not wait: an
// address that nobody answers fails the calls, not Open.
func Open(config Config) (*Verifier, error) {
	target, options, err := dial(config)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(target, append(options, config.Options...)...)
	if err != nil {
		return nil, fmt.Errorf("verifier address %q: %w", config.Address, err)
	}
	conn.Connect()
	v := &Verifier{
		conn:     conn,
		client:   plumblinev1.NewVerifierServiceClient(conn),
		maxBytes: config.MaxMessageBytes,
		known:    make(map[string]entail.Description),
	}
	if v.maxBytes == 0 {
		v.maxBytes = DefaultMaxMessageBytes
	}
	return v, nil
}

// Describe implements entail.Verifier. The other side is asked once, and again
// when another model answers.
func (v *Verifier) Describe(ctx context.Context) (entail.Description, error) {
	v.mu.Lock()
	description, ok := v.known[v.latest]
	v.mu.Unlock()
	if ok {
		return description, nil
	}
	return v.ask(ctx)
}

// Probe says whether the other side answers, without scoring a pair there. That
// it can score is for its health service to say, which the connection follows.
func (v *Verifier) Probe(ctx context.Context) error {
	_, err := v.ask(ctx)
	return err
}

// Conn is the connection, for tools that speak VerifierService by themselves.
func (v *Verifier) Conn() (grpc.ClientConnInterface, error) { return v.conn, nil }

// Close ends the connection and the calls on it.
func (v *Verifier) Close() error {
	if v.closed.Swap(true) {
		return nil
	}
	return v.conn.Close()
}

// maxKnown bounds the descriptions that are kept. Far more models than that
// behind one address are somebody's mistake.
const maxKnown = 16

// ask lets the other side describe itself.
func (v *Verifier) ask(ctx context.Context) (entail.Description, error) {
	message, err := v.client.Describe(ctx, &plumblinev1.DescribeRequest{})
	if err != nil {
		return entail.Description{}, v.failure(ctx, err)
	}
	description, err := describe(message)
	if err != nil {
		return entail.Description{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) == maxKnown {
		clear(v.known)
	}
	v.known[description.Digest] = description
	v.latest = description.Digest
	return description, nil
}

// describes returns the description of the model with that digest. One that is
// new is asked for, more than once, since each call reaches another replica.
func (v *Verifier) describes(ctx context.Context, digest string) (entail.Description, error) {
	const tries = 8
	for range tries {
		v.mu.Lock()
		description, ok := v.known[digest]
		if ok {
			v.latest = digest
		}
		v.mu.Unlock()
		if ok {
			return description, nil
		}
		if _, err := v.ask(ctx); err != nil {
			return entail.Description{}, err
		}
	}
	return entail.Description{}, violation(DigestUnknown,
		"the reply names the digest %.80q and the verifier describes itself by another", digest)
}

// failure is what the error of an rpc, or a stream that ended too early, means to
// the caller.
func (v *Verifier) failure(ctx context.Context, err error) error {
	if endsWithCall(err) {
		if own := deadline.Passing(ctx); own != nil {
			return own
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case v.closed.Load():
		return entail.ErrClosed
	case errors.Is(err, entail.ErrBadReply):
		return err
	default:
		return classify(err)
	}
}

// endsWithCall says whether err is how a verifier may end a call whose time is
// over: by a status, or by leaving out what it could not do.
func endsWithCall(err error) bool {
	broken, ok := errors.AsType[*ProtocolError](err)
	if ok {
		return broken.Kind == MissingID
	}
	return deadline.Ends(status.Code(err))
}
