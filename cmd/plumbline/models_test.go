package main_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumbline/internal/orttest"
)

// exported is a tiny model as models/export makes it.
var exported = filepath.Join("..", "..", "models", "export", "testdata", "nli-bert")

func TestModelsArePulledListedServedAndRemoved(t *testing.T) {
	t.Parallel()
	library := orttest.Library(t)
	web := httptest.NewServer(http.StripPrefix("/tiny/nli/resolve/main/", http.FileServer(http.Dir(exported))))
	t.Cleanup(web.Close)
	data := t.TempDir()
	run := func(input string, arguments ...string) result {
		command := program(t.Context(), arguments...)
		command.Env = append(slices.DeleteFunc(command.Env, func(e string) bool { return strings.HasPrefix(e, "HF_") }),
			"XDG_DATA_HOME="+data, "HF_ENDPOINT="+web.URL)
		var stdout, stderr strings.Builder
		command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &stdout, &stderr
		return result{code: exitCode(t, command.Run()), stdout: stdout.String(), stderr: stderr.String()}
	}
	pulled := run("", "models", "pull", "tiny/nli")
	if want := filepath.Join(data, "plumbline", "models", "tiny", "nli"); pulled.code != 0 || pulled.stderr != "" || !strings.Contains(pulled.stdout, want) {
		t.Fatalf("%+v", pulled)
	}
	if again := run("", "models", "pull", "tiny/nli"); again.code != 0 || !strings.Contains(again.stdout, "is up to date") {
		t.Errorf("%+v", again)
	}
	list := run("", "models", "list")
	for _, part := range []string{"NAME", "tiny/nli", "sha256:", "MB", "apache-2.0", "3 classes"} {
		if !strings.Contains(list.stdout, part) {
			t.Errorf("%q lacks %q", list.stdout, part)
		}
	}
	if entry := fields(t, run("", "models", "list", "--json").stdout); entry["name"] != "tiny/nli" || entry["source"] != web.URL+"/tiny/nli/resolve/main" {
		t.Errorf("%v", entry)
	}
	if whole := run("", "models", "verify"); whole.code != 0 || whole.stdout != "tiny/nli is whole\n" {
		t.Errorf("%+v", whole)
	}
	// A pulled name stands where a folder does.
	request := `{"evidence":[{"text":"The mill was sold."}],"claims":[{"text":"The mill is old."}]}`
	for _, dir := range []string{"tiny/nli", filepath.Join(data, "plumbline", "models", "tiny", "nli")} {
		scored := run(request, "score", "grounding", "--model-dir", dir, "--onnxruntime-lib", library)
		if scored.code != 0 || fields(t, scored.stdout)["model"].(map[string]any)["name"] != "nli-bert" {
			t.Errorf("%s: %+v", dir, scored)
		}
	}
	weights := filepath.Join(data, "plumbline", "models", "tiny", "nli", "model.onnx")
	if err := os.WriteFile(weights, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if damaged := run("", "models", "verify", "tiny/nli"); damaged.code != 1 || !strings.Contains(damaged.stderr, "model.onnx has 5 bytes") {
		t.Errorf("%+v", damaged)
	}
	if removed := run("", "models", "remove", "tiny/nli"); removed.code != 0 {
		t.Errorf("%+v", removed)
	}
	if gone := run("", "models", "remove", "tiny/nli"); gone.code != 2 || !strings.Contains(gone.stderr, "no model tiny/nli") {
		t.Errorf("%+v", gone)
	}
}

func TestATokenGoesToTheHubAlone(t *testing.T) {
	t.Parallel()
	var tokens []string
	web := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, r.Header.Get("Authorization"))
		http.Error(out, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(web.Close)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"tiny/nli", "--hub", web.URL}, {web.URL + "/tiny"}, {web.URL + "/tiny", "--token-file", file},
	} {
		command := program(t.Context(), append([]string{"models", "pull", "--dir", t.TempDir()}, arguments...)...)
		command.Env = append(command.Env, "HF_TOKEN=from-environment")
		var stderr strings.Builder
		command.Stderr = &stderr
		if code := exitCode(t, command.Run()); code != 2 || !strings.Contains(stderr.String(), "needs a token") {
			t.Errorf("%v: code %d, %s", arguments, code, stderr.String())
		}
	}
	if want := []string{"Bearer from-environment", "", "Bearer from-file"}; !slices.Equal(tokens, want) {
		t.Errorf("the server got %q, want %q", tokens, want)
	}
}
