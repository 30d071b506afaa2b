package gate

import (
	"errors"
	"fmt"
	"strings"
)

// Error says what is wrong with a policy, or with the thresholds of a request,
// and where.
type Error struct {
	// Policy is the policy's name, if it is known.
	Policy string
	// Position is "file:line:column" where the policy was read from a file.
	Position string
	// Field is the path of the offending field, such as "cel.cases[1].when".
	Field string
	// Message says what is wrong and what to do.
	Message string
}

// Error implements error.
func (e *Error) Error() string {
	var parts []string
	if e.Position != "" {
		parts = append(parts, e.Position)
	}
	if e.Policy != "" {
		parts = append(parts, "policy "+e.Policy)
	}
	if e.Field != "" {
		parts = append(parts, e.Field)
	}
	return strings.Join(append(parts, e.Message), ": ")
}

// UnknownPolicyError says that there is no policy of that name.
type UnknownPolicyError struct{ Name string }

// Error implements error.
func (e *UnknownPolicyError) Error() string {
	return fmt.Sprintf("there is no policy %q: list the policies to see their names", e.Name)
}

// join makes one error of many, or nil of none.
func join(errs []*Error) error {
	plain := make([]error, len(errs))
	for i, e := range errs {
		plain[i] = e
	}
	return errors.Join(plain...)
}

// Warning is a remark on a policy that can be used but may not do what its
// author meant.
type Warning struct {
	// Field is the path of the field that it is about.
	Field string
	// Message is the remark.
	Message string
}

// String is the warning as one line.
func (w Warning) String() string {
	if w.Field == "" {
		return w.Message
	}
	return w.Field + ": " + w.Message
}
