// Package loops_test runs the example loops as a user would: each loop with each
// gate, against a real server with the real model, and replies recorded in
// replies.jsonl in place of a language model.
package loops_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"plumbline/internal/orttest"
	"plumbline/scorers/telemetry/agent"
	"plumbline/server"
	"plumbline/server/config"
)

var rewrite = flag.Bool("rewrite", false, "record the replies anew from made_model.py and write the golden file from what the loops do")

const (
	repliesFile = "replies.jsonl"
	goldenFile  = "testdata/golden.jsonl"
)

// outcome is what must not change of one question in one loop under one gate.
type outcome struct {
	Loop      string `json:"loop"`
	Gate      string `json:"gate"`
	ID        string `json:"id"`
	Answer    string `json:"answer"`
	Right     bool   `json:"right"`
	Decisions []struct {
		By     string `json:"by"`
		Action string `json:"action"`
	} `json:"decisions"`
	Calls       int `json:"calls"`
	Completions int `json:"completions"`
	Passages    int `json:"passages"`
}

// TestLoops checks decisions, calls and passages of every loop under every gate
// against the golden file. A new bundled verifier may move decisions: run with
// -rewrite, and look at the difference.
func TestLoops(t *testing.T) {
	python := findPython(t)
	plumbline := startServer(t)
	llm := startReplay(t, python)
	golden := readGolden(t)
	var all []outcome
	for _, loop := range []string{"self_ask", "targ", "seakr", "beyond_uncertainty"} {
		for _, gate := range []string{"native", "plumbline", "calvert"} {
			t.Run(loop+" "+gate, func(t *testing.T) {
				got := outcomes(t, exec.Command(python, "run.py", loop, "--gate", gate, "--llm", llm, "--plumbline", plumbline))
				all = append(all, got...)
				if !*rewrite {
					requireSame(t, got, of(golden, loop, gate))
				}
			})
		}
	}
	program := filepath.Join(t.TempDir(), "loop")
	run(t, exec.Command("go", "build", "-o", program, "./go"))
	for _, gate := range []string{"native", "plumbline", "calvert"} {
		t.Run("beyond_uncertainty in Go "+gate, func(t *testing.T) {
			command := exec.Command(program, "--gate", gate, "--llm", llm, "--plumbline", plumbline,
				"--questions", "questions.jsonl", "--corpus", "corpus.jsonl")
			requireSame(t, outcomes(t, command), of(all, "beyond_uncertainty", gate))
		})
	}
	if *rewrite && !t.Failed() {
		writeGolden(t, all)
	}
}

// TestReadme checks the README's table of a run against the golden file.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	all := decode(t, golden)
	for len(all) > 0 {
		one := of(all, all[0].Loop, all[0].Gate)
		all = all[len(one):]
		if row := tableRow(one); !strings.Contains(string(data), row) {
			t.Errorf("the README has no row %q (%s)", row, one[0].Loop)
		}
	}
}

// tableRow sums a loop's outcomes under a gate up.
func tableRow(outcomes []outcome) string {
	var calls, completions, passages int
	actions := map[string]int{}
	for _, o := range outcomes {
		calls, completions, passages = calls+o.Calls, completions+o.Completions, passages+o.Passages
		for _, d := range o.Decisions {
			actions[d.Action]++
		}
	}
	var decisions []string
	for _, action := range []string{"RETRIEVE", "DECOMPOSE", "COMMIT", "NO_RETRIEVAL"} {
		if n := actions[action]; n > 0 {
			decisions = append(decisions, fmt.Sprintf("%d %s", n, action))
		}
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d |", outcomes[0].Gate, strings.Join(decisions, ", "), calls, completions, passages)
}

// TestPython runs the unit tests of the Python modules.
func TestPython(t *testing.T) {
	run(t, exec.Command(findPython(t), "-m", "unittest"))
}

// TestParsersAgree feeds the same broken and sound replies to the Python parsers
// and to the Go ones.
func TestParsersAgree(t *testing.T) {
	python := findPython(t)
	replies := mutations()
	var input bytes.Buffer
	for _, r := range replies {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		input.Write(append(line, '\n'))
	}
	command := exec.Command(python, "agent.py")
	command.Stdin = &input
	lines := bytes.Split(bytes.TrimSpace(run(t, command)), []byte("\n"))
	if len(lines) != len(replies) {
		t.Fatalf("%d results for %d replies", len(lines), len(replies))
	}
	for i, line := range lines {
		var got parsed
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		if got.Reply["malformed"] != "" {
			got.Reply = map[string]string{"malformed": "yes"} // the words may differ
		}
		if want := parse(replies[i]); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: Python %v, Go %v", replies[i], got, want)
		}
	}
}

// TestProbePrompt checks that the examples' copy of the prompt is the package's.
func TestProbePrompt(t *testing.T) {
	data, err := os.ReadFile("probe.txt")
	if err != nil {
		t.Fatal(err)
	}
	if want := string(data) + "\nQuestion: Who?\n"; agent.ProbePrompt("Who?") != want {
		t.Error("probe.txt differs from the prompt of scorers/telemetry/agent: copy it")
	}
}

// parsed is a line that agent.py prints.
type parsed struct {
	Reply map[string]string `json:"reply"`
	Probe map[string]any    `json:"probe"`
}

// parse is the same by the Go package.
func parse(reply string) parsed {
	result := parsed{Reply: map[string]string{"malformed": "yes"}}
	choice, err := agent.ParseReply(reply, "the subquestion")
	if err == nil {
		result.Reply = map[string]string{
			"action": strings.ToLower(strings.TrimPrefix(choice.Action.String(), "ACTION_")),
			"answer": choice.Answer, "query": choice.Query, "analysis": choice.Analysis, "reason": choice.Reason,
		}
	}
	probe := agent.ParseProbe(reply)
	result.Probe = map[string]any{
		"answer": probe.Answer, "confidence": probe.Confidence, "no_confidence": "",
		"suggested_action": probe.SuggestedAction, "summary": probe.Summary,
	}
	if probe.NoConfidence != nil {
		result.Probe["confidence"], result.Probe["no_confidence"] = nil, probe.NoConfidence.Status.String()
	}
	return result
}

// mutations are replies with a few bytes changed, by a fixed seed.
func mutations() []string {
	seeds := []string{
		`{"action": "commit", "answer": " Paris ", "analysis": "a", "reason": "b"}`,
		`{"action": "retrieve", "query": "capital: France"}`,
		`{"action": "refine", "x": [1, {"y": null, "y": true}]}`,
		"```json\n{\"answer\": \"x\", \"confidence\": 0.85, \"action\": \"answer\", \"summary\": \"\\u00e9\\n\"}\n```",
		`{"confidence": 1e0, "answer": null}`,
	}
	pieces := []string{"", " ", "\n", "{", "}", "[", "]", `"`, ",", ":", "null", "1", "-", "e9", ".", `\`, `\ud800`, "```", "é", "\x01", `"action": "commit", `}
	random := rand.New(rand.NewPCG(1, 2))
	var all []string
	for range 2000 {
		reply := []rune(seeds[random.IntN(len(seeds))])
		for range random.IntN(4) {
			at := random.IntN(len(reply) + 1)
			end := min(len(reply), at+random.IntN(3))
			piece := []rune(pieces[random.IntN(len(pieces))])
			reply = append(reply[:at:at], append(piece, reply[end:]...)...)
		}
		all = append(all, string(reply))
	}
	return all
}

// findPython finds a Python that the examples run on.
func findPython(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed; the examples need Python 3.10 or later")
	}
	if err := exec.Command(path, "-c", "import sys; sys.exit(sys.version_info < (3, 10))").Run(); err != nil {
		t.Skip("python3 is older than the 3.10 that the examples need")
	}
	return path
}

// startServer starts Plumbline on a free port and returns its URL.
func startServer(t *testing.T) string {
	t.Helper()
	cfg := config.Default()
	cfg.GRPC.Addr, cfg.HTTP.Addr = "127.0.0.1:0", "127.0.0.1:0"
	cfg.ONNXRuntime.Lib = orttest.Library(t)
	running, err := server.Complete(t.Context(), cfg, server.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	stop, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(stop, context.Background()) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + running.HTTPAddr().String()
}

// startReplay starts the server of recorded replies; to rewrite, with the made
// model behind it and an empty file.
func startReplay(t *testing.T, python string) string {
	t.Helper()
	arguments := []string{"replay.py", "--port", "0", "--replies", repliesFile}
	if *rewrite {
		if err := os.Remove(repliesFile); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		arguments = append(arguments, "--record", listen(t, python, "made_model.py", "--port", "0"))
	}
	return listen(t, python, arguments...)
}

// listen starts a Python server and returns the URL that it prints.
func listen(t *testing.T, python string, arguments ...string) string {
	t.Helper()
	command := exec.Command(python, arguments...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("%v did not start: %v", arguments, err)
	}
	return strings.TrimSpace(line)
}

// outcomes runs a loop and reads its records.
func outcomes(t *testing.T, command *exec.Cmd) []outcome {
	t.Helper()
	return decode(t, run(t, command))
}

func decode(t *testing.T, data []byte) []outcome {
	t.Helper()
	var all []outcome
	for decoder := json.NewDecoder(bytes.NewReader(data)); decoder.More(); {
		var one outcome
		if err := decoder.Decode(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// run runs a command that must succeed, and returns what it printed.
func run(t *testing.T, command *exec.Cmd) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", command.Args, err, stderr.String())
	}
	return stdout.Bytes()
}

func requireSame(t *testing.T, got, want []outcome) {
	t.Helper()
	if g, w := lines(got), lines(want); g != w {
		t.Errorf("got\n%swant\n%s", g, w)
	}
}

// of picks the outcomes of a loop under a gate.
func of(all []outcome, loop, gate string) []outcome {
	var picked []outcome
	for _, o := range all {
		if o.Loop == loop && o.Gate == gate {
			picked = append(picked, o)
		}
	}
	return picked
}

func lines(outcomes []outcome) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	for _, o := range outcomes {
		_ = encoder.Encode(o) // plain fields: it cannot fail
	}
	return text.String()
}

func readGolden(t *testing.T) []outcome {
	t.Helper()
	if *rewrite {
		return nil
	}
	data, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, data)
}

func writeGolden(t *testing.T, all []outcome) {
	t.Helper()
	if err := os.WriteFile(goldenFile, []byte(lines(all)), 0o644); err != nil {
		t.Fatal(err)
	}
}
