// Package handshake is what a host and the sidecar that it starts agree on
// before the first call: names of variables, the line on standard output, and
// the proof in it. Package spawn is the host's side, client/go/sidecar the
// sidecar's; docs/verifiers-exec.md is the whole protocol for people.
package handshake

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Version is the version of the protocol.
const Version = 1

const (
	// EnvPrefix begins the names of the variables that the host sets.
	EnvPrefix = "PLUMBLINE_SIDECAR_"

	protocolEnv = EnvPrefix + "PROTOCOL"
	cookieEnv   = EnvPrefix + "COOKIE"
	socketEnv   = EnvPrefix + "SOCKET"

	// CookieMetadata is the metadata of every call that carries the cookie.
	CookieMetadata = "plumbline-cookie"
	// magic begins the line.
	magic = "plumbline-sidecar"
)

// Ways in which a line is wrong.
var (
	// ErrMalformed: the line begins as it should and then does not go on so.
	ErrMalformed = errors.New("the handshake line is malformed")
	// ErrVersion: the sidecar speaks another version.
	ErrVersion = errors.New("the sidecar speaks another version of the protocol")
	// ErrProof: the sidecar does not know the cookie.
	ErrProof = errors.New("the sidecar's proof does not fit the cookie")
)

// Offer is what the host offers one start of a sidecar.
type Offer struct {
	// Cookie is the secret that both sides prove to know.
	Cookie string
	// Socket is the absolute path at which the sidecar listens.
	Socket string
}

// New returns an offer with a new cookie.
func New(socket string) Offer {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails; the program ends if there is no randomness
	return Offer{Cookie: hex.EncodeToString(secret[:]), Socket: socket}
}

// Environ is the offer as environment variables.
func (o Offer) Environ() []string {
	return []string{
		protocolEnv + "=" + strconv.Itoa(Version),
		cookieEnv + "=" + o.Cookie,
		socketEnv + "=" + o.Socket,
	}
}

// Spawned says whether a host started this process.
func Spawned() bool { return os.Getenv(cookieEnv) != "" }

// Take takes the offer out of the environment, so that processes which the
// sidecar starts do not learn the cookie. ok is false if there is none.
func Take() (offer Offer, ok bool) {
	if !Spawned() {
		return Offer{}, false
	}
	offer = Offer{Cookie: os.Getenv(cookieEnv), Socket: os.Getenv(socketEnv)}
	for _, name := range []string{protocolEnv, cookieEnv, socketEnv} {
		_ = os.Unsetenv(name) // fails only for a name that cannot be
	}
	return offer, true
}

// Line is the line that accepts the offer, without its end.
func (o Offer) Line() string {
	head := fmt.Sprintf("%s|%d|", magic, Version)
	return head + o.proof(head)
}

// proof is the HMAC-SHA256 (RFC 2104) of head and socket under the cookie. It
// shows that the sidecar means this offer, and does not give the cookie away.
func (o Offer) proof(head string) string {
	mac := hmac.New(sha256.New, []byte(o.Cookie))
	_, _ = mac.Write([]byte(head + o.Socket)) // a hash takes everything
	return hex.EncodeToString(mac.Sum(nil))
}

// IsLine says whether a line of output means to be the handshake.
func IsLine(line string) bool { return strings.HasPrefix(line, magic+"|") }

// Check says what is wrong with the sidecar's line: ErrMalformed, ErrVersion or
// ErrProof.
func (o Offer) Check(line string) error {
	fields := strings.Split(line, "|")
	if len(fields) != 3 || fields[0] != magic {
		return fmt.Errorf("%w: it has %d fields of 3", ErrMalformed, len(fields))
	}
	if _, err := strconv.ParseUint(fields[1], 10, 32); err != nil {
		return fmt.Errorf("%w: its version is no number", ErrMalformed)
	}
	if fields[1] != strconv.Itoa(Version) {
		return fmt.Errorf("%w: it speaks %s and the host %d", ErrVersion, fields[1], Version)
	}
	head := fmt.Sprintf("%s|%d|", magic, Version)
	if subtle.ConstantTimeCompare([]byte(fields[2]), []byte(o.proof(head))) != 1 {
		return ErrProof
	}
	return nil
}

// Admits says whether the metadata of a call carry the cookie, once.
func (o Offer) Admits(cookies []string) bool {
	return len(cookies) == 1 && subtle.ConstantTimeCompare([]byte(cookies[0]), []byte(o.Cookie)) == 1
}
