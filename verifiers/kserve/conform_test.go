package kserve

import (
	"testing"

	"plumbline/verifiers/conform"
)

func TestConformance(t *testing.T) {
	for r := range conform.Run(t.Context(), openAddress(t, newFake().serve(t)+classesOption), conform.Options{}) {
		if r.Outcome == conform.Fail {
			t.Errorf("%s: %s", r.Check, r.Detail)
		}
	}
}
