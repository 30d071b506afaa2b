package config_test

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"plumbline/server/config"
)

// TestVerifiersHaveThreeWays: a verifier is added by flag, variable or file, and
// has the same defaults each time.
func TestVerifiersHaveThreeWays(t *testing.T) {
	const judge, hosts = "openai:http://localhost:8000/v1?model=m", "grpc://a:1,b:2"
	for way, load := range map[string]func() (config.Config, error){
		"flag": func() (config.Config, error) {
			return config.Load(flags(t, "--verifiers", "judge="+judge, "--verifiers=remote="+hosts), nil)
		},
		"env": func() (config.Config, error) {
			return config.Load(nil, []string{"PLUMBLINE_VERIFIERS=judge=" + judge + "\nremote=" + hosts + "\n"})
		},
		"file": func() (config.Config, error) {
			return config.Load(flags(t, "--config", file(t, "verifiers:\n  judge: {address: '"+judge+"'}\n  remote: {address: '"+hosts+"'}\n")), nil)
		},
	} {
		cfg, err := load()
		if err != nil {
			t.Errorf("%s: %v", way, err)
			continue
		}
		want := map[string]config.NamedVerifier{}
		for name, at := range map[string]string{"judge": judge, "remote": hosts} {
			want[name] = config.DefaultVerifier(name, at)
		}
		if !reflect.DeepEqual(cfg.Verifiers, want) {
			t.Errorf("%s: %+v", way, cfg.Verifiers)
		}
		if names := slices.Sorted(maps.Keys(cfg.AllVerifiers())); !slices.Equal(names, []string{"embedded", "judge", "remote"}) {
			t.Errorf("%s: all verifiers are %v", way, names)
		}
	}
}

func TestLayersOfAVerifierAreJoined(t *testing.T) {
	path := file(t, `
verifier: {default: judge}
verifiers:
  judge:
    address: grpc://old:1
    retries: 4
    timeout: 7s
    breaker: {failures: 9}
    fallback: [other, embedded]
    fail_mode: open
  other:
    address: grpcs://other:1
    tls: {ca_file: ca.pem}
`)
	cfg, err := config.Load(flags(t, "--config", path, "--verifiers", "judge=grpc://new:1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := config.DefaultVerifier("judge", "grpc://new:1")
	want.Retries, want.Timeout, want.Breaker.Failures = 4, 7*time.Second, 9
	want.Fallback, want.FailMode = []string{"other", "embedded"}, config.FailOpen
	if !reflect.DeepEqual(cfg.Verifiers["judge"], want) {
		t.Errorf("got %+v", cfg.Verifiers["judge"])
	}
	if cfg.Verifiers["other"].TLS.CAFile != "ca.pem" {
		t.Errorf("got %+v", cfg.Verifiers["other"])
	}
	if a, b := cfg.EffectiveFailMode("judge"), cfg.EffectiveFailMode("other"); a != config.FailOpen || b != config.FailClosed {
		t.Errorf("fail modes %s and %s", a, b)
	}
}

// TestTheEmbeddedModelIsThereIfItCanBeReached, so that a server of remote
// verifiers need not load a model.
func TestTheEmbeddedModelIsThereIfItCanBeReached(t *testing.T) {
	for text, there := range map[string]bool{
		"{}": true,
		"verifiers: {judge: {address: 'grpc://h:1'}}":                                                        true,
		"{verifier: {default: judge}, verifiers: {judge: {address: 'grpc://h:1'}}}":                          false,
		"{verifier: {default: judge}, verifiers: {judge: {address: 'grpc://h:1', fallback: [embedded]}}}":    true,
		"{verifier: {default: judge}, verifiers: {judge: {address: 'grpc://h:1'}, embedded: {}}}":            true,
		"{verifier: {default: judge}, verifiers: {judge: {address: 'grpc://h:1'}, embedded: {timeout: 9s}}}": true,
	} {
		cfg, err := config.Load(flags(t, "--config", file(t, text)), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, ok := cfg.AllVerifiers()["embedded"]
		if ok != there || there && (got.Address != "embedded" || got.MaxCalls != 256 || got.Retries != 0) {
			t.Errorf("%s: %+v, %t", text, got, ok)
		}
	}
}

func TestWrongVerifiersAreReported(t *testing.T) {
	for text, key := range map[string]string{
		"verifier: {default: nobody}":                                                 "verifier.default",
		"verifiers: {judge: {address: 'http://x'}}":                                   "verifiers.judge.address",
		"verifiers: {judge: {retries: 1}}":                                            "verifiers.judge.address",
		"verifiers: {judge: {address: 'grpc://h:1', max_calls: 0}}":                   "verifiers.judge.max_calls",
		"verifiers: {judge: {address: 'grpc://h:1', timeout: -1s}}":                   "verifiers.judge.timeout",
		"verifiers: {judge: {address: 'grpc://h:1', retries: 11}}":                    "verifiers.judge.retries",
		"verifiers: {judge: {address: 'grpc://h:1', breaker: {failures: -1}}}":        "verifiers.judge.breaker.failures",
		"verifiers: {judge: {address: 'grpc://h:1', breaker: {pause: 0s}}}":           "verifiers.judge.breaker.pause",
		"verifiers: {judge: {address: 'grpc://h:1', fallback: [nobody]}}":             "verifiers.judge.fallback",
		"verifiers: {judge: {address: 'grpc://h:1', fallback: [judge]}}":              "verifiers.judge.fallback",
		"verifiers: {judge: {address: 'grpc://h:1', fallback: [embedded, embedded]}}": "verifiers.judge.fallback",
		"verifiers: {judge: {address: 'grpc://h:1', fail_mode: ajar}}":                "verifiers.judge.fail_mode",
		"verifiers: {judge: {address: 'grpc://h:1', tls: {ca_file: ca.pem}}}":         "verifiers.judge.tls",
		"verifiers: {judge: {address: 'grpcs://h:1', tls: {cert_file: c.pem}}}":       "verifiers.judge.tls",
		"verifiers: {judge: {colour: red}}":                                           "verifiers.judge.colour",
		"verifiers: {Judge: {address: 'grpc://h:1'}}":                                 "verifiers.Judge",
		"verifiers: {a.b: {address: 'grpc://h:1'}}":                                   "verifiers.a.b",
		"verifiers: [grpc://h:1]":                                                     "verifiers",
	} {
		if _, err := config.Load(flags(t, "--config", file(t, text)), nil); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: the error does not name %s: %v", text, key, err)
		}
	}
	for _, text := range []string{"judge", "grpc://h:1", "Judge=grpc://h:1", "=grpc://h:1", "a.b=grpc://h:1"} {
		if _, err := config.Load(flags(t, "--verifiers", text), nil); err == nil {
			t.Errorf("--verifiers %s is taken", text)
		}
		if _, err := config.Load(nil, []string{"PLUMBLINE_VERIFIERS=" + text}); err == nil {
			t.Errorf("PLUMBLINE_VERIFIERS=%s is taken", text)
		}
	}
}

func TestSecretsOfVerifiersAreHidden(t *testing.T) {
	cfg, err := config.Load(flags(t, "--verifiers", "judge=exec:--env TOKEN=s3cret python3 -m judge"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(cfg.Verifiers["judge"].Address, "s3cret") {
		t.Error("the server does not know the secret itself")
	}
	for name, render := range map[string]func() ([]byte, error){"YAML": cfg.YAML, "JSON": cfg.JSON} {
		text, err := render()
		if err != nil || strings.Contains(string(text), "s3cret") || !strings.Contains(string(text), "python3 -m judge") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

func TestEffectiveVerifiersLoadAgain(t *testing.T) {
	cfg, err := config.Load(flags(t, "--verifiers", "judge=grpc://h:1", "--verifier-default", "judge"), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := cfg.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := config.Load(flags(t, "--config", file(t, string(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Verifiers, cfg.Verifiers) || again.Verifier != cfg.Verifier {
		t.Errorf("YAML loads as %+v\n%s", again.Verifiers, text)
	}
}

// TestTheGuidesExampleLoads keeps docs/verifiers.md true.
func TestTheGuidesExampleLoads(t *testing.T) {
	guide, err := os.ReadFile("../../docs/verifiers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(guide), "```yaml\n")
	example, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("the guide has no example")
	}
	cfg, err := config.Load(flags(t, "--config", file(t, example)), nil)
	if err != nil || cfg.Verifier.Default != "judge" || len(cfg.AllVerifiers()) != 3 {
		t.Errorf("%+v, %v", cfg.Verifiers, err)
	}
	for _, s := range []string{"max_calls", "timeout", "retries", "breaker.failures", "breaker.pause", "fallback", "fail_mode"} {
		if !strings.Contains(string(guide), "| `"+s+"` |") {
			t.Errorf("the guide does not explain %s", s)
		}
	}
}
