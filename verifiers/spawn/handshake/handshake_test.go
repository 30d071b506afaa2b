package handshake_test

import (
	"errors"
	"strings"
	"testing"

	"plumbline/verifiers/spawn/handshake"
)

// The proof was computed with OpenSSL:
//
//	printf 'plumbline-sidecar|1|/tmp/p/s' | openssl dgst -sha256 -hmac "$(printf 'ab%.0s' {1..32})"
const (
	cookie = "abababababababababababababababababababababababababababababababab"
	socket = "/tmp/p/s"
	line   = "plumbline-sidecar|1|e90500d3dacd00220a938229645b74e6578dddd41a9526799d282574a8b98bcc"
)

func TestLineIsTheDocumentedOne(t *testing.T) {
	if got := (handshake.Offer{Cookie: cookie, Socket: socket}).Line(); got != line {
		t.Errorf("got %s\nwant %s", got, line)
	}
}

func TestCheck(t *testing.T) {
	offer := handshake.New(socket)
	if err := offer.Check(offer.Line()); err != nil {
		t.Errorf("its own line: %v", err)
	}
	for name, c := range map[string]struct {
		line string
		want error
	}{
		"empty":           {"", handshake.ErrMalformed},
		"magic alone":     {"plumbline-sidecar", handshake.ErrMalformed},
		"no proof":        {"plumbline-sidecar|1", handshake.ErrMalformed},
		"more fields":     {offer.Line() + "|x", handshake.ErrMalformed},
		"other magic":     {"other" + offer.Line(), handshake.ErrMalformed},
		"word as version": {"plumbline-sidecar|one|x", handshake.ErrMalformed},
		"negative":        {"plumbline-sidecar|-1|x", handshake.ErrMalformed},
		"leading zero":    {strings.Replace(offer.Line(), "|1|", "|01|", 1), handshake.ErrVersion},
		"later version":   {strings.Replace(offer.Line(), "|1|", "|2|", 1), handshake.ErrVersion},
		"empty proof":     {"plumbline-sidecar|1|", handshake.ErrProof},
		"cookie as proof": {"plumbline-sidecar|1|" + offer.Cookie, handshake.ErrProof},
		"other cookie":    {handshake.New(socket).Line(), handshake.ErrProof},
		"other socket":    {handshake.Offer{Cookie: offer.Cookie, Socket: "/elsewhere"}.Line(), handshake.ErrProof},
		"upper case":      {strings.ToUpper(offer.Line()), handshake.ErrMalformed},
	} {
		if err := offer.Check(c.line); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestAdmits(t *testing.T) {
	offer := handshake.New(socket)
	if !offer.Admits([]string{offer.Cookie}) {
		t.Error("the cookie is refused")
	}
	for _, cookies := range [][]string{nil, {""}, {offer.Cookie[1:]}, {offer.Cookie, offer.Cookie}, {handshake.New(socket).Cookie}} {
		if offer.Admits(cookies) {
			t.Errorf("%q are admitted", cookies)
		}
	}
}

func TestTakeLeavesNothing(t *testing.T) {
	offer := handshake.New(socket)
	for _, variable := range offer.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	if got, ok := handshake.Take(); !ok || got != offer {
		t.Errorf("took %v, %v", got, ok)
	}
	if _, ok := handshake.Take(); ok || handshake.Spawned() {
		t.Error("the offer is still there")
	}
}

func FuzzCheck(f *testing.F) {
	offer := handshake.New(socket)
	f.Add("plumbline-sidecar|1|x")
	f.Add("plumbline-sidecar|99999999999999999999|")
	f.Fuzz(func(t *testing.T, line string) {
		if err := offer.Check(line); err == nil && line != offer.Line() {
			t.Errorf("%q is accepted", line)
		}
	})
}
