// Package report writes what an evaluation found: as JSON with every number,
// as Markdown tables, and as one HTML page that needs nothing else.
package report

import (
	"encoding/json"
	"fmt"
	"io"

	"plumbline/scorers/evaluation"
)

// Report is an evaluation with where it comes from. Its JSON is the answer of
// "plumbline eval".
type Report struct {
	// Title heads the page.
	Title string `json:"title"`
	// Program is the version of the program.
	Program string `json:"program"`
	// Verifier is what was measured.
	Verifier Verifier `json:"verifier"`
	// Throughput is what the scoring took.
	Throughput Throughput `json:"throughput"`
	*evaluation.Result
	// Against is the comparison with another run; nil if there is none.
	Against *Against `json:"against,omitempty"`
	// Published are figures of other systems on sets of these names.
	Published []Published `json:"published,omitempty"`
}

// Verifier says what was measured and how it was asked.
type Verifier struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	// Mode is the mode of the grounding requests, Claims how claims were given:
	// whole or split.
	Mode   string `json:"mode"`
	Claims string `json:"claims"`
}

// String names the verifier for people.
func (v Verifier) String() string {
	return fmt.Sprintf("%s (%s; mode %s, claims %s)", v.Name, v.Digest, v.Mode, v.Claims)
}

// Throughput is what the scoring took, over all sittings.
type Throughput struct {
	// Rows is how many rows were scored in them, Pairs how many pairs of a
	// chunk and a claim the verifier was asked.
	Rows  int `json:"rows"`
	Pairs int `json:"pairs"`
	// Seconds is wall-clock time; ProcessorSeconds is the processor time of
	// this process, 0 if the verifier runs elsewhere.
	Seconds          float64 `json:"seconds"`
	ProcessorSeconds float64 `json:"processor_seconds,omitempty"`
}

// Against is a comparison with another run.
type Against struct {
	Verifier Verifier `json:"verifier"`
	*evaluation.Comparison
}

// WriteJSON writes every number.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
