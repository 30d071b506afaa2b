package endpoint

import (
	"slices"
	"strings"
	"testing"
	"time"
)

type config struct {
	Settings `option:",squash"`
	Model    string `option:"model"`
	Hidden   string
}

func parse(address string) (config, error) {
	var c config
	url, err := Parse("judge", address, []string{"http", "https"}, &c)
	c.URL = url
	return c, err
}

func TestParse(t *testing.T) {
	c, err := parse("judge:https://host:8000/v1?model=org/name&timeout=1m30s&concurrency=3&languages=en,de&epsilon=0.01&key_env=KEY")
	if err != nil {
		t.Fatal(err)
	}
	if c.URL.String() != "https://host:8000/v1" || c.Model != "org/name" || c.Timeout != 90*time.Second || c.Concurrency != 3 ||
		!slices.Equal(c.Languages, []string{"en", "de"}) || c.Epsilon != 0.01 || c.KeyEnv != "KEY" {
		t.Errorf("got %+v", c)
	}
}

func TestParseRefuses(t *testing.T) {
	for address, want := range map[string]string{
		"":                                      "write it as judge:http|https://host:port",
		"other:http://host":                     "write it as",
		"judge:ftp://host":                      "write it as",
		"judge:host:80":                         "write it as",
		"judge:http://":                         "write it as",
		"judge:http://:80":                      "write it as",
		"judge:http://host/%zz":                 "write it as",
		"judge:http://host#part":                "write it as",
		"judge:http://host?colour=x":            "colour",
		"judge:http://host?Model=x":             "Model",
		"judge:http://host?Hidden=x":            "Hidden",
		"judge:http://host?URL=x":               "URL",
		"judge:http://host?model=a&model=b":     "model is given 2 times",
		"judge:http://host?concurrency=many":    "concurrency",
		"judge:http://host?timeout=5":           "timeout",
		"judge:http://host?model=a;b":           "not a URL query",
		"judge:http://user:sesame@host":         "credentials",
		"judge:http://user:ses%zzame@host":      "write it as",
		"judge:http://user:sesame@host?model=a": "credentials",
	} {
		_, err := parse(address)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", address, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "ses") {
			t.Errorf("%q: the error tells the password: %v", address, err)
		}
	}
}

func TestComplete(t *testing.T) {
	c, _ := parse("judge:http://host")
	if key, err := Complete(&c.Settings); key != "" || err != nil || c.Concurrency != DefaultConcurrency || c.Timeout != DefaultTimeout {
		t.Errorf("got %q, %v and %+v", key, err, c.Settings)
	}
	t.Setenv("PLUMBLINE_TEST_KEY", " sesame\n")
	c, _ = parse("judge:http://host?key_env=PLUMBLINE_TEST_KEY")
	if key, err := Complete(&c.Settings); key != "sesame" || err != nil {
		t.Errorf("got %q, %v", key, err)
	}
}

func TestCompleteRefuses(t *testing.T) {
	t.Setenv("PLUMBLINE_TEST_KEY", "two\nlines")
	for option, want := range map[string]string{
		"concurrency=-1":             "concurrency",
		"timeout=-1s":                "timeout",
		"epsilon=2":                  "epsilon",
		"epsilon=NaN":                "epsilon",
		"key_env=PLUMBLINE_NO_KEY":   "PLUMBLINE_NO_KEY",
		"key_env=PLUMBLINE_TEST_KEY": "PLUMBLINE_TEST_KEY",
	} {
		c, err := parse("judge:http://host?" + option)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Complete(&c.Settings); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "lines") {
			t.Errorf("%s: %v, want an error with %q", option, err, want)
		}
	}
	var none Settings
	if _, err := Complete(&none); err == nil {
		t.Error("settings without a URL pass")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("judge:http://host:8000/v1?model=a&timeout=1s&languages=en,de")
	f.Add("judge:http://user:password@host")
	f.Fuzz(func(t *testing.T, address string) {
		c, err := parse(address)
		if err != nil {
			return
		}
		if c.URL.Hostname() == "" || c.URL.User != nil || c.URL.RawQuery != "" || !slices.Contains([]string{"http", "https"}, c.URL.Scheme) {
			t.Errorf("%q is taken as %v", address, c.URL)
		}
	})
}
