package server

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// followed opens the policies of a folder and follows it until the test ends. It
// returns the threshold in force, −1 where there is no policy, and the log.
func followed(t *testing.T, dir string) (threshold func() float64, log *testlog.Buffer) {
	t.Helper()
	p, err := openPolicies(config.Policies{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	log = &testlog.Buffer{}
	stop := p.watch(metrics.New("", ""), slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return func() float64 {
		reply, err := p.current().Policy("mine")
		if err != nil {
			return -1
		}
		return reply.GetPolicy().GetThresholds()["least"]
	}, log
}

func TestPoliciesFollowTheirFolder(t *testing.T) {
	dir := t.TempDir()
	writePolicy(t, dir, "0.5")
	threshold, log := followed(t, dir)
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
}

// TestPoliciesFollowWhatFileSystemsDoNotTell changes the folder as volumes and
// releases do.
func TestPoliciesFollowWhatFileSystemsDoNotTell(t *testing.T) {
	root := t.TempDir()
	release := func(name, threshold string) string {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Join(dir, "team"), 0o700); err != nil {
			t.Fatal(err)
		}
		writePolicy(t, filepath.Join(dir, "team"), threshold)
		return dir
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	one, two := release("one", "0.1"), release("two", "0.2")
	current := filepath.Join(root, "current")
	must(os.Symlink(one, current))
	threshold, log := followed(t, current)

	writePolicy(t, filepath.Join(one, "team"), "0.3")
	testwait.For(t, "a file in a folder of the folder", func() bool { return threshold() == 0.3 })

	for _, dir := range []string{one, two} { // as reproducible archives have it
		must(os.Chtimes(filepath.Join(dir, "team", "mine.yaml"), time.Unix(1, 0), time.Unix(1, 0)))
	}
	must(os.Symlink(two, current+".new"))
	must(os.Rename(current+".new", current))
	testwait.For(t, "a link to another folder", func() bool { return threshold() == 0.2 })

	must(os.Rename(two, two+".old"))
	testwait.For(t, "the folder is gone", func() bool { return strings.Contains(log.String(), "no such file") })
	if got := threshold(); got != 0.2 {
		t.Errorf("without a folder the threshold is %v", got)
	}
	release("two", "0.4")
	testwait.For(t, "another folder in its place", func() bool { return threshold() == 0.4 })
	writePolicy(t, filepath.Join(two, "team"), "0.5")
	testwait.For(t, "a file of the other folder", func() bool { return threshold() == 0.5 })
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
	stop := p.watch(metrics.New("", ""), slog.New(slog.NewTextHandler(io.Discard, nil)))
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
