package kserve

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumbline/internal/pyenv"
	"plumbline/internal/testport"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail"
)

// TestMLServer asks a real server of the protocol, Seldon's MLServer, which runs
// the model of testdata/mlserver/words.py.
func TestMLServer(t *testing.T) {
	address := startMLServer(t, mlServer(t))
	for _, dtype := range []string{"float32", "float64"} {
		t.Run(dtype, func(t *testing.T) {
			v := openAddress(t, address+"?model="+dtype+classesOption+"&output=logits&batch=2")
			waitReady(t, v)
			pairs := []entail.Pair{
				{Premise: "grass is green", Hypothesis: "grass is green"}, // logits 3, 0, 0
				{Premise: "grass is green", Hypothesis: "grass is red"},   // 2, 1, 0
				{Premise: "poison", Hypothesis: "it kills"},
				{Premise: "日本 は 島国", Hypothesis: "日本"}, // 1, 0, 0
			}
			batch, err := v.Verify(t.Context(), pairs)
			if err != nil {
				t.Fatal(err)
			}
			// SciPy's softmax of these logits.
			for i, want := range map[int]entail.Scores{
				0: {Entailment: 0.909443, Neutral: 0.045279, Contradiction: 0.045279, ThreeClass: true},
				1: {Entailment: 0.665241, Neutral: 0.244728, Contradiction: 0.090031, ThreeClass: true},
				3: {Entailment: 0.576117, Neutral: 0.211942, Contradiction: 0.211942, ThreeClass: true},
			} {
				if r := batch.Results[i]; r.Err != nil || !near(r.Scores, want) {
					t.Errorf("pair %d: %+v, want %+v", i, r, want)
				}
			}
			if got := statusOf(batch.Results[2]); got != plumblinev1.Status_STATUS_INVALID_INPUT {
				t.Errorf("the pair that it refuses: %+v", batch.Results[2])
			}
			_, err = v.Verify(t.Context(), []entail.Pair{{Premise: "break it", Hypothesis: "it breaks"}})
			if !errors.Is(err, entail.ErrUnavailable) || strings.Contains(err.Error(), "break it") {
				t.Errorf("a model that throws: %v", err)
			}
		})
	}
	t.Run("several outputs", func(t *testing.T) {
		err := openAddress(t, address+"?model=float32"+classesOption).Probe(t.Context())
		if !errors.Is(err, entail.ErrRejected) || !strings.Contains(err.Error(), `"logits"`) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no such model", func(t *testing.T) {
		if err := openAddress(t, address+"?model=none"+classesOption+"&output=logits").Probe(t.Context()); err == nil {
			t.Error("a model that is not there passes the probe")
		}
	})
}

// mlServer returns the path of the server.
func mlServer(t *testing.T) string {
	t.Helper()
	return filepath.Join(filepath.Dir(pyenv.Find(t, "testdata/mlserver/requirements.txt")), "mlserver")
}

// startMLServer runs the server with a model for each type of number, and
// returns its address.
func startMLServer(t *testing.T, server string) string {
	t.Helper()
	dir := t.TempDir()
	code, err := os.ReadFile("testdata/mlserver/words.py")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content any) {
		t.Helper()
		data, ok := content.([]byte)
		if !ok {
			if data, err = json.Marshal(content); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	tensor := func(name, datatype string, shape ...int) map[string]any {
		return map[string]any{"name": name, "datatype": datatype, "shape": shape}
	}
	for dtype, datatype := range map[string]string{"float32": typeFP32, "float64": typeFP64} {
		write(dtype+"/words.py", code)
		write(dtype+"/model-settings.json", map[string]any{
			"name": dtype, "implementation": "words.Words",
			"inputs":     []any{tensor("premise", typeBytes, -1), tensor("hypothesis", typeBytes, -1)},
			"outputs":    []any{tensor("rows", typeInt64, -1), tensor("logits", datatype, -1, 3)},
			"parameters": map[string]any{"version": "v1", "extra": map[string]string{"dtype": dtype}},
		})
	}
	port := testport.Free(t)
	write("settings.json", map[string]any{
		"host": "127.0.0.1", "grpc_port": port, "http_port": testport.Free(t), "metrics_port": testport.Free(t), "parallel_workers": 0,
	})
	command := exec.Command(server, "start", dir)
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		_ = command.Wait() // it was killed
		if t.Failed() {
			t.Logf("MLServer's log:\n%s", log.Bytes())
		}
	})
	return "kserve:grpc://127.0.0.1:" + strconv.Itoa(port)
}

// waitReady waits until the model answers.
func waitReady(t *testing.T, v *Verifier) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if err = v.Probe(t.Context()); err == nil {
			return
		}
	}
	t.Fatalf("the server does not come up: %v", err)
}
