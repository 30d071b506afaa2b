// Package agent reads what models write back: the action that an agent chose
// after it saw the prompt block, and the probe that BeyondUncertainty asks for.
package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// MaxReplyBytes bounds a reply.
const MaxReplyBytes = 64 << 10

// Reply is an agent's choice.
type Reply struct {
	// Action is ACTION_COMMIT, ACTION_RETRIEVE, ACTION_REFINE or
	// ACTION_DECOMPOSE.
	Action plumblinev1.Action
	// Answer is the final answer; set if and only if the action is commit.
	Answer string
	// Query is what to search for; set if and only if the action is retrieve.
	Query string
	// Analysis and Reason are the agent's own words, for logs.
	Analysis, Reason string
}

// MalformedError says why a reply cannot be used. It carries no text of the
// reply.
type MalformedError struct{ Problem string }

// Error implements error.
func (e *MalformedError) Error() string { return "malformed reply: " + e.Problem }

func malformed(format string, args ...any) error {
	return &MalformedError{Problem: fmt.Sprintf(format, args...)}
}

// ParseReply reads an agent's reply: one JSON object and nothing else, with
// "action" one of commit, retrieve, refine and decompose. A commit must bring
// "answer"; the "query" of a retrieve defaults to the subquestion. Fields that
// are not known are ignored, since they change no action; a field given twice
// is refused, since it could. The error is a *MalformedError.
func ParseReply(reply, subquestion string) (Reply, error) {
	fields, err := object(reply)
	if err != nil {
		return Reply{}, err
	}
	var r Reply
	for _, field := range []struct {
		name string
		into *string
	}{{"answer", &r.Answer}, {"query", &r.Query}, {"analysis", &r.Analysis}, {"reason", &r.Reason}} {
		if *field.into, err = text(fields, field.name); err != nil {
			return Reply{}, err
		}
	}
	action, err := text(fields, "action")
	if err != nil {
		return Reply{}, err
	}
	if r.Action, err = actionOf(action); err != nil {
		return Reply{}, err
	}
	if err := r.complete(subquestion); err != nil {
		return Reply{}, err
	}
	return r, nil
}

func actionOf(name string) (plumblinev1.Action, error) {
	switch name {
	case "commit":
		return plumblinev1.Action_ACTION_COMMIT, nil
	case "retrieve":
		return plumblinev1.Action_ACTION_RETRIEVE, nil
	case "refine":
		return plumblinev1.Action_ACTION_REFINE, nil
	case "decompose":
		return plumblinev1.Action_ACTION_DECOMPOSE, nil
	case "":
		return plumblinev1.Action_ACTION_UNSPECIFIED, malformed(`"action" is missing`)
	default:
		return plumblinev1.Action_ACTION_UNSPECIFIED, malformed(`"action" must be commit, retrieve, refine or decompose`)
	}
}

// complete checks what the action needs and drops what it does not.
func (r *Reply) complete(subquestion string) error {
	commit, retrieve := r.Action == plumblinev1.Action_ACTION_COMMIT, r.Action == plumblinev1.Action_ACTION_RETRIEVE
	if !commit {
		r.Answer = ""
	}
	if !retrieve {
		r.Query = ""
	}
	if commit && r.Answer == "" {
		return malformed(`a commit needs "answer"`)
	}
	if retrieve && r.Query == "" {
		if r.Query = strings.TrimSpace(subquestion); r.Query == "" {
			return malformed(`a retrieve needs "query" where there is no subquestion`)
		}
	}
	return nil
}

// object reads exactly one JSON object without repeated fields.
func object(reply string) (map[string]json.RawMessage, error) {
	if len(reply) > MaxReplyBytes {
		return nil, malformed("it has %d bytes; at most %d are allowed", len(reply), MaxReplyBytes)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(reply)))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, malformed("it is not one JSON object")
	}
	fields := map[string]json.RawMessage{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, malformed("it is not valid JSON")
		}
		key, _ := name.(string)
		if _, twice := fields[key]; twice {
			return nil, malformed("a field is given twice")
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, malformed("it is not valid JSON")
		}
		fields[key] = value
	}
	if _, err := decoder.Token(); err != nil {
		return nil, malformed("it is not valid JSON")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed("there is something after the JSON object")
	}
	return fields, nil
}

// text reads a field that holds a string; one that is absent or null is empty.
func text(fields map[string]json.RawMessage, name string) (string, error) {
	raw, ok := fields[name]
	if !ok {
		return "", nil
	}
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", malformed("%q must be a string", name)
	}
	if s == nil {
		return "", nil
	}
	return strings.TrimSpace(*s), nil
}
