package tei

import (
	"testing"

	"plumbline/verifiers/conform"
)

func TestConformance(t *testing.T) {
	both(t, func(t *testing.T, f *fake, transport string) {
		for r := range conform.Run(t.Context(), open(t, f.serve(t, transport)), conform.Options{}) {
			if r.Outcome == conform.Fail {
				t.Errorf("%s: %s", r.Check, r.Detail)
			}
		}
	})
}
