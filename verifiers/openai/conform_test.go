package openai

import (
	"fmt"
	"net/http"
	"testing"

	"plumbline/verifiers/conform"
)

func TestConformance(t *testing.T) {
	j := newJudge(t)
	answer := j.reply
	j.reply = func(j *judge, w http.ResponseWriter, a asked) {
		if len(a.user()) > 4*32768 { // beyond the window of the model that it lists
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"too many tokens","code":"context_length_exceeded"}}`)
			return
		}
		answer(j, w, a)
	}
	for r := range conform.Run(t.Context(), j.open(t, ""), conform.Options{}) {
		if r.Outcome == conform.Fail {
			t.Errorf("%s: %s", r.Check, r.Detail)
		}
	}
}
