// Package verifiers has what all verifiers of its sub-packages are: backends,
// which differ in where the model is, and decorators, which add one concern to
// a backend each.
package verifiers

import (
	"context"
	"errors"
	"fmt"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
	"plumbline/scorers/score"
)

// Backend is a verifier with resources to free, such as a model or a
// connection.
type Backend interface {
	entail.Verifier
	// Probe says whether a pair could be scored now.
	Probe(ctx context.Context) error
	// Close frees the resources. Calls that are inside end with
	// entail.ErrClosed, unless the backend lets them finish first.
	Close() error
}

// Outage is the failure of a batch that has no scores at all, if one of its
// pairs failed for the verifier's sake and not for its own text's: then the
// call failed, and another call or another verifier may fare better. It is nil
// for every other batch.
func Outage(batch entail.Batch) error {
	var outage error
	for _, result := range batch.Results {
		if result.Err == nil {
			return nil
		}
		if outage == nil {
			outage = verifierFailure(result.Err)
		}
	}
	return outage
}

// verifierFailure is the error of a pair if it is no fault of the pair's.
func verifierFailure(err error) error {
	missing, typed := errors.AsType[*score.Missing](err)
	switch {
	case !typed:
		return err
	case missing.Status == plumblinev1.Status_STATUS_VERIFIER_UNAVAILABLE, missing.Status == plumblinev1.Status_STATUS_DEADLINE:
		return fmt.Errorf("%w: %s", entail.ErrUnavailable, missing.Reason)
	default:
		return nil
	}
}
