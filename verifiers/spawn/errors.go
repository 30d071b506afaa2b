package spawn

import (
	"errors"

	"plumbline/verifiers/spawn/handshake"
)

// Errors of a start, one for each cause. What Open returns wraps one of them,
// with what the sidecar last wrote to standard error where that helps.
var (
	// ErrStart: the command is not there or cannot be run.
	ErrStart = errors.New("the sidecar cannot be started")
	// ErrChecksum: the executable has another SHA-256 than was asked for.
	ErrChecksum = errors.New("the sidecar's executable is not the expected one")
	// ErrExited: the sidecar ended before it served, or later by itself.
	ErrExited = errors.New("the sidecar ended")
	// ErrNoLine: the sidecar printed nothing before the start timeout.
	ErrNoLine = errors.New("the sidecar printed no handshake line")
	// ErrGarbage: what the sidecar printed is not the handshake line.
	ErrGarbage = errors.New("the sidecar printed something else than the handshake line")
	// ErrVersion: the sidecar speaks another version of the protocol.
	ErrVersion = handshake.ErrVersion
	// ErrCookie: the sidecar does not prove that it knows the cookie.
	ErrCookie = handshake.ErrProof
	// ErrStranger: another process than the sidecar listens on its socket.
	ErrStranger = errors.New("a stranger listens on the sidecar's socket")
	// ErrNotServing: nobody listens on the socket, or its health service did not
	// say SERVING before the start timeout.
	ErrNotServing = errors.New("the sidecar does not serve")
	// ErrHung: the sidecar answered no health check and was killed.
	ErrHung = errors.New("the sidecar hung")
)
