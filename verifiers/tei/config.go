package tei

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"plumbline/verifiers/internal/classes"
	"plumbline/verifiers/internal/endpoint"
	"plumbline/verifiers/internal/rpc"
)

// Scheme begins the addresses of this backend.
const Scheme = "tei"

// DefaultBatchSize is what a TEI server takes unless it was told otherwise.
const DefaultBatchSize = 32

// Config says which server to ask. A field's tag is its name as an option of the
// address.
type Config struct {
	// Settings are those of every such backend. URL has the transport http, https,
	// grpc or grpcs: a TEI server is built for one of HTTP and gRPC.
	endpoint.Settings `option:",squash"`
	// Labels says what a model's labels mean, for one that does not call them by
	// the names of the classes.
	Labels Labels `option:"labels"`
	// BatchSize is how many pairs a request over HTTP has at most; 0 means
	// DefaultBatchSize. The server's own limit holds too.
	BatchSize int `option:"batch"`
}

// Labels are classes by the label that a model gives them.
type Labels map[string]string

// UnmarshalText reads LABEL:CLASS,…, such as LABEL_0:not_entailment,LABEL_1:entailment.
func (l *Labels) UnmarshalText(text []byte) error {
	labels := make(Labels)
	for part := range strings.SplitSeq(string(text), ",") {
		cut := strings.LastIndex(part, ":")
		if cut < 1 {
			return errors.New("labels: write them as LABEL_0:not_entailment,LABEL_1:entailment")
		}
		if labels[part[:cut]] != "" {
			return fmt.Errorf("labels: %q has two classes", part[:cut])
		}
		labels[part[:cut]] = part[cut+1:]
	}
	*l = labels
	return nil
}

// class returns the class of a label.
func (l Labels) class(label string) (string, error) {
	name := label
	if given, ok := l[label]; ok {
		name = given
	}
	class, ok := classes.Normal(name)
	if !ok {
		return "", fmt.Errorf("the model has a label %.40q, which is no class; say what its labels mean, as in labels=LABEL_0:not_entailment,LABEL_1:entailment", label)
	}
	return class, nil
}

// Parse reads an address: tei:http://host:port or tei:grpc://host:port, with any
// options of Config.
func Parse(address string) (Config, error) {
	var config Config
	url, err := endpoint.Parse(Scheme, address, []string{"http", "https", rpc.Plain, rpc.TLS}, &config)
	if err != nil {
		return Config{}, err
	}
	config.URL = url
	return config, nil
}

// complete checks the configuration, sets defaults, and returns the API key.
func (c *Config) complete() (key string, err error) {
	c.BatchSize = cmp.Or(c.BatchSize, DefaultBatchSize)
	if c.BatchSize < 0 {
		return "", errors.New("batch: must be positive")
	}
	return endpoint.Complete(&c.Settings)
}
