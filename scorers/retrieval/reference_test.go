package retrieval_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/retrieval"
)

// TestReference compares every signal with the values of testdata/reference.py,
// which computes them from their definitions with numpy and SciPy. A signal
// that the reference does not give must be a typed reason.
func TestReference(t *testing.T) {
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string
		Request  json.RawMessage
		Expected map[string]float64
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	compared := map[string]bool{}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			req := &plumblinev1.ScoreRetrievalRequest{}
			if err := protojson.Unmarshal(c.Request, req); err != nil {
				t.Fatal(err)
			}
			for name, signal := range retrieval.Score(req).GetSignals() {
				want, given := c.Expected[name]
				switch ok := signal.GetStatus() == plumblinev1.Status_STATUS_OK; {
				case ok != given:
					t.Errorf("%s: %v %q, reference gives a value: %t", name, signal.GetStatus(), signal.GetReason(), given)
				case ok && math.Abs(signal.GetValue()-want) > 1e-9*max(1, math.Abs(want)):
					t.Errorf("%s = %.15g, reference %.15g", name, signal.GetValue(), want)
				}
				compared[name] = compared[name] || given
			}
		})
	}
	for _, info := range retrieval.Infos() {
		if !compared[info.GetName()] {
			t.Errorf("%s: the reference has no value for it", info.GetName())
		}
	}
}
