// Package corpus reads the cases that every surface must answer alike, and
// compares answers. A case is a request in protobuf-JSON with what must hold of
// the response, in YAML, so that tests in any language can run it; the format is
// described in testdata/corpus/README.md.
package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Case is one request and what must hold of its answer.
type Case struct {
	// ID names the case in its file.
	ID string `yaml:"id"`
	// About says why the case exists.
	About string `yaml:"about"`
	// Request is the request in protobuf-JSON with proto field names.
	Request map[string]any `yaml:"request"`
	// Want has expectations by path into the response, such as
	// "claims[0].verdict"; see Check.
	Want map[string]any `yaml:"want"`
	// Error is the failure that the request must have in place of a response.
	Error *Failure `yaml:"error"`
}

// Failure is what must hold of an error.
type Failure struct {
	// Code is the name of the gRPC status code.
	Code string `yaml:"code"`
	// Field is the path of the field to blame; empty if none is.
	Field string `yaml:"field"`
	// Reason is the machine-readable reason; empty means any.
	Reason string `yaml:"reason"`
}

// Load reads a file of cases.
func Load(path string) ([]Case, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	var cases []Case
	if err := decoder.Decode(&cases); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	seen := make(map[string]bool)
	for _, c := range cases {
		switch {
		case c.ID == "" || seen[c.ID]:
			return nil, fmt.Errorf("%s: the id %q is empty or given twice", path, c.ID)
		case c.Request == nil:
			return nil, fmt.Errorf("%s: %s has no request", path, c.ID)
		case (len(c.Want) == 0) == (c.Error == nil):
			return nil, fmt.Errorf("%s: %s must have either want or error", path, c.ID)
		}
		seen[c.ID] = true
	}
	return cases, nil
}

// Fill reads the case's request into message.
func (c Case) Fill(message proto.Message) error {
	data, err := json.Marshal(c.Request)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	if err := protojson.Unmarshal(data, message); err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	return nil
}
