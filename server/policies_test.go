package server

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumbline/internal/testlog"
	"plumbline/internal/testwait"
	"plumbline/scorers/gate"
	"plumbline/server/config"
	"plumbline/server/metrics"
)

const policyFile = `name: mine
version: "1"
inputs:
  - {name: final_conf, type: INPUT_TYPE_NUMBER, on_missing: ACTION_RETRIEVE}
thresholds: {least: THRESHOLD}
conditions:
  conditions: [{input: final_conf, comparison: COMPARISON_LESS, threshold: least}]
  then: ACTION_RETRIEVE
  otherwise: ACTION_COMMIT
`

func writePolicy(t *testing.T, dir, threshold string) {
	t.Helper()
	text := strings.ReplaceAll(policyFile, "THRESHOLD", threshold)
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPoliciesFollowTheirFolder(t *testing.T) {
	dir := t.TempDir()
	writePolicy(t, dir, "0.5")
	p, err := openPolicies(config.Policies{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var log testlog.Buffer
	stop, err := p.watch(metrics.New("", ""), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	threshold := func() float64 {
		reply, err := p.current().Policy("mine")
		if err != nil {
			return -1
		}
		return reply.GetPolicy().GetThresholds()["least"]
	}
	if threshold() != 0.5 {
		t.Fatalf("threshold %v", threshold())
	}

	writePolicy(t, dir, "0.7")
	testwait.For(t, "the new threshold", func() bool { return threshold() == 0.7 })

	// A bad file keeps what was in force; a good one is then taken.
	logged := len(log.String())
	writePolicy(t, dir, "none at all")
	testwait.For(t, "the log names the bad file and its line", func() bool { return strings.Contains(log.String()[logged:], "mine.yaml:") })
	if got := threshold(); got != 0.7 {
		t.Errorf("a bad file changed the threshold to %v", got)
	}
	writePolicy(t, dir, "0.9")
	testwait.For(t, "the repaired threshold", func() bool { return threshold() == 0.9 })

	if err := os.Remove(filepath.Join(dir, "mine.yaml")); err != nil {
		t.Fatal(err)
	}
	testwait.For(t, "the removal", func() bool { return threshold() == -1 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestBadPolicyFolderStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	writePolicy(t, dir, "none at all")
	for _, d := range []string{dir, filepath.Join(dir, "absent")} {
		_, err := openPolicies(config.Policies{Dir: d})
		if err == nil || !strings.Contains(err.Error(), "policies.dir") {
			t.Errorf("%s: %v", d, err)
		}
	}
}

func TestCallsDuringReloadsSeeAWholeSet(t *testing.T) {
	dir := t.TempDir()
	writePolicy(t, dir, "0.5")
	p, err := openPolicies(config.Policies{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	stop, err := p.watch(metrics.New("", ""), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		writePolicy(t, dir, "0.6")
		for range 100 {
			decision, err := p.current().Apply("mine", gate.Values{"final_conf": gate.Number(0.1)}, nil)
			if err != nil || decision.Action.String() != "ACTION_RETRIEVE" {
				t.Fatalf("%v, %v", decision.Action, err)
			}
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
