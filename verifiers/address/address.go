// Package address opens the verifier that an address names. Its scheme says
// which backend:
//
//	embedded[:FOLDER]                      the model in this process
//	grpc://HOST:PORT[,HOST:PORT…]          VerifierService
//	grpcs://HOST:PORT[,HOST:PORT…]         the same over TLS
//	unix:PATH                              the same over a Unix socket
//	exec:COMMAND ARGS…                     the same, in a process that is started
//	openai:http://HOST:PORT/v1?model=NAME  a language model as a judge
//	tei:http://HOST:PORT                   Text Embeddings Inference
//	kserve:grpc://HOST:PORT?model=NAME     the Open Inference Protocol
package address

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/kballard/go-shellquote"

	"plumbline/models/engine"
	"plumbline/verifiers"
	"plumbline/verifiers/embedded"
	"plumbline/verifiers/kserve"
	"plumbline/verifiers/openai"
	"plumbline/verifiers/remote"
	"plumbline/verifiers/spawn"
	"plumbline/verifiers/tei"
)

// Embedded is the scheme of the model in this process, and alone the address of
// the model that Options name.
const Embedded = "embedded"

// Options are what backends need to know besides the address. Each takes what
// concerns it.
type Options struct {
	// ModelDir is the folder of the model at the address "embedded"; empty means
	// the bundled model.
	ModelDir string
	// Engine are the settings of the engine over embedded models.
	Engine engine.Config
	// TLS is for grpcs.
	TLS remote.TLS
	// MaxMessageBytes bounds a message to a verifier over gRPC; 0 means
	// remote.DefaultMaxMessageBytes.
	MaxMessageBytes int
	// Log takes what spawned verifiers print; nil drops it.
	Log *slog.Logger
}

// Address is an address that is well formed.
type Address struct {
	// Scheme is what stands before its first colon.
	Scheme string

	text string
	open opener
}

// opener opens the backend that an address names.
type opener func(ctx context.Context, options Options) (verifiers.Backend, error)

// schemes is the one table of backends: how an address of each is read.
func schemes() map[string]func(text string) (opener, error) {
	return map[string]func(string) (opener, error){
		Embedded:      parseEmbedded,
		"grpc":        parseRemote,
		"grpcs":       parseRemote,
		"unix":        parseRemote,
		"exec":        parseSpawn,
		openai.Scheme: parseWith(openai.Parse, openai.Open),
		tei.Scheme:    parseWith(tei.Parse, tei.Open),
		kserve.Scheme: parseWith(kserve.Parse, kserve.Open),
	}
}

// Parse reads an address.
func Parse(text string) (Address, error) {
	scheme, _, _ := strings.Cut(text, ":")
	parse, known := schemes()[scheme]
	if !known {
		// The text is not told: it may be anything, a password too.
		return Address{}, errors.New("the address begins with none of the known schemes (embedded, grpc://, grpcs://, unix:, exec:, openai:, tei:, kserve:)")
	}
	open, err := parse(text)
	if err != nil {
		return Address{}, err
	}
	return Address{Scheme: scheme, text: text, open: open}, nil
}

// Open opens the backend. Only a spawned verifier is waited for; whether others
// answer is for their calls to find out. The caller closes it.
func (a Address) Open(ctx context.Context, options Options) (verifiers.Backend, error) {
	if a.Scheme != "grpcs" && options.TLS != (remote.TLS{}) {
		return nil, errors.New("certificates are for grpcs: addresses")
	}
	return a.open(ctx, options)
}

// String is the address as people may read it: without the values that it sets
// in the environment of a process, which may be secrets.
func (a Address) String() string {
	if a.Scheme != "exec" {
		return a.text
	}
	words, err := shellquote.Split(strings.TrimPrefix(a.text, "exec:"))
	if err != nil {
		return "exec:…" // Parse has seen it, so that this does not happen
	}
	return "exec:" + shellquote.Join(mask(words)...)
}

// mask hides the values of --env NAME=VALUE.
func mask(words []string) []string {
	const flag, hidden = "--env", "HIDDEN"
	for i, word := range words {
		variable, joined := strings.CutPrefix(word, flag+"=")
		name, _, set := strings.Cut(variable, "=")
		switch {
		case set && joined:
			words[i] = flag + "=" + name + "=" + hidden
		case set && i > 0 && words[i-1] == flag:
			words[i] = name + "=" + hidden
		}
	}
	return words
}

func parseEmbedded(text string) (opener, error) {
	_, dir, named := strings.Cut(text, ":")
	if named && dir == "" {
		return nil, fmt.Errorf("verifier address %q: name the model's folder, or leave the colon out", text)
	}
	return func(_ context.Context, options Options) (verifiers.Backend, error) {
		config := embedded.Config{ModelDir: dir, Engine: options.Engine}
		if !named {
			config.ModelDir = options.ModelDir
		}
		return opened(embedded.Open(config))
	}, nil
}

func parseRemote(text string) (opener, error) {
	config, err := remote.Parse(text)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, options Options) (verifiers.Backend, error) {
		config := config // an address may be opened more than once
		config.TLS, config.MaxMessageBytes = options.TLS, options.MaxMessageBytes
		return opened(remote.Open(config))
	}, nil
}

func parseSpawn(text string) (opener, error) {
	config, err := spawn.Parse(strings.TrimPrefix(text, "exec:"))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, options Options) (verifiers.Backend, error) {
		config := config // an address may be opened more than once
		config.MaxMessageBytes, config.Log = options.MaxMessageBytes, options.Log
		return opened(spawn.Open(ctx, config))
	}, nil
}

// parseWith is for backends whose address says everything.
func parseWith[C any, B verifiers.Backend](parse func(string) (C, error), open func(C) (B, error)) func(string) (opener, error) {
	return func(text string) (opener, error) {
		config, err := parse(text)
		if err != nil {
			return nil, err
		}
		return func(context.Context, Options) (verifiers.Backend, error) { return opened(open(config)) }, nil
	}
}

// opened makes a backend of a concrete type a Backend, nil where it failed.
func opened[B verifiers.Backend](backend B, err error) (verifiers.Backend, error) {
	if err != nil {
		return nil, err
	}
	return backend, nil
}
