package config_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"plumbline/server/config"
)

var rewrite = flag.Bool("rewrite", false, "rewrite plumbline.yaml from the code")

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plumbline.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func flags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.Flags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

func TestDefaultsAreValidAndLoadFromNothing(t *testing.T) {
	cfg, err := config.Load(nil, nil)
	if err != nil || !reflect.DeepEqual(cfg, config.Default()) {
		t.Errorf("got %+v, %v", cfg, err)
	}
}

// TestDocumentedDefaults keeps plumbline.yaml, which people read and copy,
// equal to the code.
func TestDocumentedDefaults(t *testing.T) {
	const path = "plumbline.yaml"
	want, err := config.Default().YAML()
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code has (%v); run go test ./server/config -rewrite", path, err)
	}
	cfg, err := config.Load(flags(t, "--config", path), nil)
	if err != nil || !reflect.DeepEqual(normal(cfg), normal(config.Default())) {
		t.Errorf("the documented file loads as %+v, %v", cfg, err)
	}
}

// normal makes an empty list equal to none.
func normal(c config.Config) config.Config {
	if len(c.HTTP.CORSOrigins) == 0 {
		c.HTTP.CORSOrigins = nil
	}
	if len(c.Verifiers) == 0 {
		c.Verifiers = nil
	}
	return c
}

// other is a valid value of each kind of setting that no default has.
func other(value any) string {
	switch v := value.(type) {
	case bool:
		if v {
			return "false"
		}
		return "true"
	case string:
		switch {
		case v == config.LogJSON:
			return config.LogText
		case v == config.FailClosed:
			return config.FailOpen
		case v == config.Embedded:
			return "judge"
		case v == "info":
			return "debug"
		case strings.HasPrefix(v, ":"):
			return "127.0.0.1:7"
		case v == "":
			return "some.file"
		default:
			return "45s"
		}
	case []string:
		return "https://a.example,https://b.example"
	default:
		return "4321"
	}
}

// TestEverySettingHasThreeNames sets each setting by each of its names.
func TestEverySettingHasThreeNames(t *testing.T) {
	for _, s := range config.Settings() {
		if s.Key == "verifiers" {
			continue // its keys are names; TestVerifiersHaveThreeWays
		}
		value := other(s.Value(config.Default()))
		// A certificate needs its key and authorities need both.
		var more []string
		if strings.Contains(s.Key, ".tls.") {
			prefix := strings.ToUpper(strings.ReplaceAll(s.Key[:strings.LastIndex(s.Key, ".")], ".", "_"))
			more = []string{"PLUMBLINE_" + prefix + "_CERT_FILE=some.file", "PLUMBLINE_" + prefix + "_KEY_FILE=some.file"}
			more = slices.DeleteFunc(more, func(entry string) bool { return strings.HasPrefix(entry, s.Env()+"=") })
		}
		// A default must be there.
		if value == "judge" {
			more = []string{"PLUMBLINE_VERIFIERS=judge=grpc://localhost:1"}
		}
		nested := value
		for _, name := range slices.Backward(strings.Split(s.Key, ".")) {
			nested = "{" + name + ": " + nested + "}"
		}
		if strings.Contains(value, ",") {
			nested = strings.Replace(nested, value, "[\""+strings.ReplaceAll(value, ",", "\",\"")+"\"]", 1)
		} else if strings.Contains(value, ":") {
			nested = strings.Replace(nested, value, `"`+value+`"`, 1)
		}
		ways := map[string]func() (config.Config, error){
			"flag": func() (config.Config, error) { return config.Load(flags(t, "--"+s.Flag()+"="+value), more) },
			"env":  func() (config.Config, error) { return config.Load(nil, append(more, s.Env()+"="+value)) },
			"file": func() (config.Config, error) { return config.Load(flags(t, "--config", file(t, nested)), more) },
		}
		for way, load := range ways {
			cfg, err := load()
			if err != nil {
				t.Errorf("%s by %s: %v", s.Key, way, err)
				continue
			}
			got := s.Value(cfg)
			if list, ok := got.([]string); ok {
				got = strings.Join(list, ",")
			}
			if text := strings.Trim(strings.TrimSpace(string(must(json.Marshal(got)))), `"`); text != value {
				t.Errorf("%s by %s = %s, want %s", s.Key, way, text, value)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestFlagsWinOverEnvironmentOverFile(t *testing.T) {
	path := file(t, "http: {addr: ':1', idle_timeout: 1s, read_header_timeout: 1s}\n")
	env := []string{"PLUMBLINE_CONFIG=" + path, "PLUMBLINE_HTTP_ADDR=:2", "PLUMBLINE_HTTP_IDLE_TIMEOUT=2s", "HOME=/"}
	cfg, err := config.Load(flags(t, "--http-addr=:3"), env)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.HTTP.Addr != ":3" || cfg.HTTP.IdleTimeout != 2*time.Second || cfg.HTTP.ReadHeaderTimeout != time.Second {
		t.Errorf("http = %+v", cfg.HTTP)
	}
	if cfg.GRPC != config.Default().GRPC {
		t.Errorf("what nobody set is %+v", cfg.GRPC)
	}
}

func TestUnknownNamesAreErrorsThatNameThem(t *testing.T) {
	path := file(t, "http: {colour: ':1'}\nspeed: fast\n")
	_, err := config.Load(nil, []string{"PLUMBLINE_CONFIG=" + path, "PLUMBLINE_HTTP_ADDRESS=:2", "PLUMBLINE_SPEED=fast"})
	for _, name := range []string{"http.colour", "speed", "PLUMBLINE_HTTP_ADDRESS", "PLUMBLINE_SPEED", path} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}

func TestKubernetesServiceVariablesAreNoSettings(t *testing.T) {
	_, err := config.Load(nil, []string{
		"PLUMBLINE_SERVICE_HOST=10.0.0.1", "PLUMBLINE_SERVICE_PORT=50051", "PLUMBLINE_SERVICE_PORT_GRPC=50051",
		"PLUMBLINE_PORT=tcp://10.0.0.1:50051", "PLUMBLINE_PORT_50051_TCP=tcp://10.0.0.1:50051",
		"PLUMBLINE_PORT_50051_TCP_ADDR=10.0.0.1", "PLUMBLINE_CANARY_PORT_8080_TCP_PROTO=tcp",
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAllWrongValuesAreReportedAtOnce(t *testing.T) {
	cfg := config.Default()
	cfg.GRPC.Addr = "nowhere"
	cfg.GRPC.TLS.CertFile = "cert.pem"
	cfg.HTTP.TLS.ClientCAFile = "ca.pem"
	cfg.HTTP.CORSOrigins = []string{"app.example"}
	cfg.Limits.MaxMessageBytes = 1
	cfg.Limits.DefaultDeadline = time.Hour
	cfg.Drain.Grace = -1
	cfg.Log.Format = "xml"
	cfg.Verifier.FailMode = "ajar"
	cfg.Subgoals.TTL = 0
	err := cfg.Validate()
	for _, key := range []string{
		"grpc.addr", "grpc.tls", "http.tls.client_ca_file", "http.cors_origins", "limits.max_message_bytes",
		"limits.default_deadline", "drain.grace", "log.format", "verifier.fail_mode", "subgoals.ttl",
	} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("the error does not name %s: %v", key, err)
		}
	}
}

func TestValuesOfTheWrongTypeAreRefused(t *testing.T) {
	for _, text := range []string{
		"http: {idle_timeout: 30}", "http: {idle_timeout: soon}", "limits: {max_message_bytes: many}",
		"reflection: perhaps", "log: {level: loud}", "http: nothing", "[1, 2]", "a: [",
	} {
		if cfg, err := config.Load(flags(t, "--config", file(t, text)), nil); err == nil {
			t.Errorf("%s is taken for %+v", text, cfg)
		}
	}
	if _, err := config.Load(flags(t, "--config", "no/such/file"), nil); err == nil || !strings.Contains(err.Error(), "no/such/file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestEffectiveSettingsLoadAgain(t *testing.T) {
	cfg := config.Default()
	cfg.HTTP.CORSOrigins = []string{"https://a.example"}
	cfg.Log.Level = slog.LevelWarn
	cfg.Drain.Grace = 90 * time.Second
	text, err := cfg.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := config.Load(flags(t, "--config", file(t, string(text))), nil)
	if err != nil || !reflect.DeepEqual(normal(again), cfg) {
		t.Errorf("YAML loads as %+v, %v", again, err)
	}
	data, err := cfg.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var fromJSON, fromYAML map[string]any
	if err := json.Unmarshal(data, &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &fromYAML); err != nil {
		t.Fatal(err)
	}
	if a, b := must(json.Marshal(fromJSON)), must(json.Marshal(fromYAML)); !bytes.Equal(a, b) {
		t.Errorf("JSON and YAML differ:\n%s\n%s", a, b)
	}
}
