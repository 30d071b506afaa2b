package spawn_test

import (
	"reflect"
	"testing"
	"time"

	"plumbline/verifiers/spawn"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]spawn.Config{
		"plumbline verifier":            {Command: []string{"plumbline", "verifier"}},
		`'a b' "c d" e\ f`:              {Command: []string{"a b", "c d", "e f"}},
		"python3 side.py --env=X -- -v": {Command: []string{"python3", "side.py", "--env=X", "--", "-v"}},
		"echo $HOME `id` *; true":       {Command: []string{"echo", "$HOME", "`id`", "*;", "true"}},
		"--env=HOME --env=A=1,2 --inherit-env --sha256=ab --dir=/x --start-timeout=3m x": {
			Command: []string{"x"}, Env: []string{"HOME", "A=1,2"}, InheritEnv: true, SHA256: "ab", Dir: "/x", StartTimeout: 3 * time.Minute,
		},
	} {
		if want.StartTimeout == 0 {
			want.StartTimeout = spawn.DefaultStartTimeout
		}
		got, err := spawn.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if len(got.Env) == 0 {
			got.Env = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "   ", "''", "--inherit-env", "--sha255=x cmd", "'open", "--start-timeout=3 cmd", "--start-timeout=-1s cmd", "--env= cmd", "--env==x cmd",
	} {
		if got, err := spawn.Parse(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("--env=HOME python3 'side car.py' -v")
	f.Fuzz(func(t *testing.T, text string) {
		config, err := spawn.Parse(text)
		if err == nil && (len(config.Command) == 0 || config.Command[0] == "") {
			t.Errorf("%q gives no command and no error", text)
		}
	})
}
