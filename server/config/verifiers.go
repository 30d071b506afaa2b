package config

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"plumbline/verifiers/address"
)

// Embedded is the name of the verifier that is there without being listed.
const Embedded = "embedded"

// verifiersKey is the setting whose keys are names.
const verifiersKey = "verifiers"

// NamedVerifier is a verifier and how it is asked.
type NamedVerifier struct {
	// Address says which backend it is and where.
	Address string `koanf:"address" doc:"where it is: embedded, grpc://host:port, exec:command, openai:http://host/v1?model=name, …"`
	// MaxCalls bounds the calls that are inside it.
	MaxCalls int `koanf:"max_calls" doc:"most calls of it at once; more wait up to half of timeout and are then refused"`
	// Timeout bounds a call with its retries; 0 leaves that to the caller.
	Timeout time.Duration `koanf:"timeout" doc:"longest call of it once it has a place, retries included; 0s leaves that to the request's deadline"`
	// Retries bounds the further attempts of a call.
	Retries int `koanf:"retries" doc:"further attempts of a call that found it unavailable"`
	// Breaker keeps calls from one that fails.
	Breaker Breaker `koanf:"breaker"`
	// Fallback names the verifiers that are asked in turn where it cannot be.
	Fallback []string `koanf:"fallback" doc:"names of the verifiers that are asked in turn where it cannot be"`
	// FailMode is FailClosed, FailOpen, or empty for that of Verifier.
	FailMode string `koanf:"fail_mode" doc:"closed or open for requests that name it; empty means verifier.fail_mode"`
	// TLS is for grpcs addresses.
	TLS ClientTLS `koanf:"tls"`
}

// Breaker is a circuit breaker.
type Breaker struct {
	// Failures in a row open it; 0 means that there is none.
	Failures int `koanf:"failures" doc:"failures in a row after which calls are refused at once; 0 means never"`
	// Pause is how long it is open before one call may try.
	Pause time.Duration `koanf:"pause" doc:"how long until one call may try again"`
}

// ClientTLS names the PEM files of a client.
type ClientTLS struct {
	// CAFile has the authorities to trust; empty means the system's.
	CAFile string `koanf:"ca_file" doc:"PEM file of the authorities to trust at a grpcs address; empty means the system's"`
	// CertFile is the client's certificate chain; empty means that it shows none.
	CertFile string `koanf:"cert_file" doc:"PEM file of the client certificate to show; empty means none"`
	// KeyFile is the certificate's private key.
	KeyFile string `koanf:"key_file" doc:"PEM file of the client certificate's key"`
}

// DefaultVerifier returns the settings of a verifier of which only the name and
// the address are known. A model in this process fails neither for a while nor
// for lack of patience; its engine has a queue of its own.
func DefaultVerifier(name, at string) NamedVerifier {
	if at == "" && name == Embedded {
		at = address.Embedded
	}
	if scheme, _, _ := strings.Cut(at, ":"); scheme == address.Embedded {
		return NamedVerifier{Address: at, MaxCalls: 256, Breaker: Breaker{Pause: 5 * time.Second}, Fallback: []string{}}
	}
	return NamedVerifier{
		Address:  at,
		MaxCalls: 64,
		Timeout:  30 * time.Second,
		Retries:  2,
		Breaker:  Breaker{Failures: 5, Pause: 5 * time.Second},
		Fallback: []string{},
	}
}

// AllVerifiers are the verifiers by name: those listed, and the embedded one if
// requests can reach it by default or by a chain.
func (c Config) AllVerifiers() map[string]NamedVerifier {
	all := make(map[string]NamedVerifier, len(c.Verifiers)+1)
	wanted := c.Verifier.Default == Embedded
	for name, v := range c.Verifiers {
		all[name] = v
		wanted = wanted || slices.Contains(v.Fallback, Embedded)
	}
	if _, listed := all[Embedded]; !listed && wanted {
		v := DefaultVerifier(Embedded, "")
		v.MaxCalls = c.Verifier.MaxCalls
		all[Embedded] = v
	}
	return all
}

// EffectiveFailMode is the fail mode of requests that name the verifier.
func (c Config) EffectiveFailMode(name string) string {
	if mode := c.Verifiers[name].FailMode; mode != "" {
		return mode
	}
	return c.Verifier.FailMode
}

// verifierSettings are the settings that each verifier has, with keys relative
// to its name.
func verifierSettings() []Setting { return settingsOf(reflect.TypeFor[NamedVerifier](), "", nil) }

// verifierName is what a verifier may be called: a name is part of keys, of
// labels of metrics, and of requests.
var verifierName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)

// named reads NAME=ADDRESS.
func named(text string) (name, at string, err error) {
	name, at, ok := strings.Cut(text, "=")
	if !ok || !verifierName.MatchString(name) {
		// The text is not told: an address may hold secrets.
		return "", "", fmt.Errorf("%s: write a verifier as name=address, its name in lower-case letters, digits, - and _", verifiersKey)
	}
	return name, at, nil
}

// isVerifierKey says whether a key of the file is a setting of some verifier, or
// the name of one of which nothing is said.
func isVerifierKey(key string) bool {
	rest, ok := strings.CutPrefix(key, verifiersKey+".")
	name, field, _ := strings.Cut(rest, ".")
	return ok && verifierName.MatchString(name) &&
		(field == "" || slices.ContainsFunc(verifierSettings(), func(s Setting) bool { return s.Key == field }))
}

// verifierDefaults are the defaults of the verifiers that the layers name, of
// which later ones win.
func verifierDefaults(layers ...map[string]any) map[string]any {
	addresses := make(map[string]string)
	for _, layer := range layers {
		for key, value := range layer {
			if !isVerifierKey(key) {
				continue
			}
			name, field, _ := strings.Cut(strings.TrimPrefix(key, verifiersKey+"."), ".")
			if _, seen := addresses[name]; !seen {
				addresses[name] = ""
			}
			if at, ok := value.(string); ok && field == "address" {
				addresses[name] = at
			}
		}
	}
	defaults := make(map[string]any)
	for name, at := range addresses {
		v := DefaultVerifier(name, at)
		for _, s := range verifierSettings() {
			defaults[verifiersKey+"."+name+"."+s.Key] = fileValue(reflect.ValueOf(v).FieldByIndex(s.index))
		}
	}
	return defaults
}

// verifiersValue renders verifiers as a configuration file has them, without
// secrets.
func verifiersValue(byName map[string]NamedVerifier) map[string]any {
	tree := make(map[string]any, len(byName))
	for name, v := range byName {
		if parsed, err := address.Parse(v.Address); err == nil {
			v.Address = parsed.String()
		}
		entry := make(map[string]any)
		for _, s := range verifierSettings() {
			put(entry, s.Key, fileValue(reflect.ValueOf(v).FieldByIndex(s.index)))
		}
		tree[name] = entry
	}
	return tree
}

// validateVerifiers checks the verifiers and what names them.
func (c Config) validateVerifiers(p *problems) {
	all := c.AllVerifiers()
	names := strings.Join(slices.Sorted(maps.Keys(all)), ", ")
	_, known := all[c.Verifier.Default]
	p.check(known, "verifier.default", fmt.Sprintf("is %q: it must be one of %s", c.Verifier.Default, names))
	for _, name := range slices.Sorted(maps.Keys(c.Verifiers)) {
		v, key := c.Verifiers[name], verifiersKey+"."+name
		p.check(verifierName.MatchString(name), key, "is no name: use lower-case letters, digits, - and _, 64 at most")
		at, err := address.Parse(v.Address)
		if err != nil {
			p.check(false, key+".address", "cannot be used: "+err.Error())
		}
		p.check(v.MaxCalls >= 1, key+".max_calls", "must be at least 1")
		p.check(v.Timeout >= 0, key+".timeout", "must not be negative")
		p.check(v.Retries >= 0 && v.Retries <= 10, key+".retries", "must be between 0 and 10")
		p.check(v.Breaker.Failures >= 0, key+".breaker.failures", "must be at least 0")
		p.positive(key+".breaker.pause", v.Breaker.Pause)
		if v.FailMode != "" {
			p.oneOf(key+".fail_mode", v.FailMode, FailClosed, FailOpen)
		}
		for i, fallback := range v.Fallback {
			_, known := all[fallback]
			p.check(known && fallback != name && !slices.Contains(v.Fallback[:i], fallback), key+".fallback",
				fmt.Sprintf("has %q: each must be another verifier of %s, named once", fallback, names))
		}
		p.check(err != nil || at.Scheme == "grpcs" || v.TLS == ClientTLS{}, key+".tls", "is for grpcs addresses")
		p.check((v.TLS.CertFile == "") == (v.TLS.KeyFile == ""), key+".tls", "needs both cert_file and key_file, or neither")
	}
}
