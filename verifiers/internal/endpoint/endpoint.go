// Package endpoint takes apart the addresses of servers that speak other
// people's protocols:
//
//	backend:transport://host[:port][/path][?option=value&…]
package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// Defaults of Settings.
const (
	DefaultConcurrency = 8
	DefaultTimeout     = 30 * time.Second
)

// Settings are what every such backend can be told. A field's tag is its name
// as an option of the address.
type Settings struct {
	// URL is the server: transport, host and path.
	URL *url.URL
	// Concurrency is how many requests are under way at once, over all calls;
	// 0 means DefaultConcurrency.
	Concurrency int `option:"concurrency"`
	// Timeout bounds one request, within the deadline of the call; 0 means
	// DefaultTimeout.
	Timeout time.Duration `option:"timeout"`
	// KeyEnv names the environment variable that holds the API key, which is
	// sent as a bearer token. Empty means that the server wants none. The key
	// itself stands in no address, so that it gets into no log.
	KeyEnv string `option:"key_env"`
	// Languages are the BCP 47 codes that the model was made for, in the address
	// separated by commas; empty means any.
	Languages []string `option:"languages"`
	// Epsilon is how far a score moves with the composition of the server's
	// batches, as its operator has measured it; 0 means not stated.
	Epsilon float64 `option:"epsilon"`
}

// Complete checks the settings, sets defaults, and returns the API key.
func Complete(s *Settings) (key string, err error) {
	s.Concurrency = cmp.Or(s.Concurrency, DefaultConcurrency)
	s.Timeout = cmp.Or(s.Timeout, DefaultTimeout)
	switch {
	case s.URL == nil || s.URL.Host == "":
		return "", errors.New("the address names no host")
	case s.Concurrency < 0:
		return "", errors.New("concurrency: must be positive")
	case s.Timeout < 0:
		return "", errors.New("timeout: must be positive")
	case math.IsNaN(s.Epsilon) || s.Epsilon < 0 || s.Epsilon > 1:
		return "", errors.New("epsilon: must be between 0 and 1")
	case s.KeyEnv == "":
		return "", nil
	}
	key = strings.TrimSpace(os.Getenv(s.KeyEnv))
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", fmt.Errorf("key_env: the environment variable %s holds no API key", s.KeyEnv)
	}
	return key, nil
}

// Parse reads an address into config, a pointer to a struct whose fields have
// tags as those of Settings, and returns the server's URL. An option that config
// does not have, or that is given twice, is an error.
func Parse(backend, address string, transports []string, config any) (*url.URL, error) {
	rest, found := strings.CutPrefix(address, backend+":")
	server, err := url.Parse(rest)
	form := fmt.Sprintf("write it as %s:%s://host:port", backend, strings.Join(transports, "|"))
	switch {
	case !found || err != nil:
		// Not quoted: what cannot be read may hold a password.
		return nil, fmt.Errorf("verifier address: %s", form)
	case server.User != nil:
		return nil, errors.New("verifier address: it holds credentials; put the key into an environment variable and name that as key_env")
	case !slices.Contains(transports, server.Scheme) || server.Hostname() == "" || server.Fragment != "":
		return nil, fmt.Errorf("verifier address %q: %s", address, form)
	}
	if err := decode(server.RawQuery, config); err != nil {
		return nil, fmt.Errorf("verifier address %q: %w", address, err)
	}
	server.RawQuery = ""
	return server, nil
}

func decode(query string, config any) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("its options are not a URL query")
	}
	options := make(map[string]any, len(values))
	for name, given := range values {
		if len(given) != 1 {
			return fmt.Errorf("option %s is given %d times", name, len(given))
		}
		options[name] = given[0]
	}
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result:               config,
		TagName:              "option",
		ErrorUnused:          true,
		WeaklyTypedInput:     true,
		IgnoreUntaggedFields: true,
		MatchName:            func(option, field string) bool { return option == field },
		DecodeHook: mapstructure.ComposeDecodeHookFunc(
			mapstructure.StringToTimeDurationHookFunc(),
			mapstructure.TextUnmarshallerHookFunc(),
			mapstructure.StringToSliceHookFunc(","),
		),
	})
	if err != nil {
		return err
	}
	return decoder.Decode(options)
}
