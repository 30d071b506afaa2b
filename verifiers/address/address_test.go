package address_test

import (
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"plumbline/verifiers/address"
	"plumbline/verifiers/remote"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEverySchemeIsKnown(t *testing.T) {
	for text, scheme := range map[string]string{
		"embedded":                                "embedded",
		"embedded:models/mine":                    "embedded",
		"grpc://localhost:50061":                  "grpc",
		"grpc://a:1,b:2":                          "grpc",
		"grpcs://verifier.example:443":            "grpcs",
		"unix:/run/verifier.sock":                 "unix",
		"exec:python3 -m judge":                   "exec",
		"openai:http://localhost:8000/v1?model=m": "openai",
		"tei:http://localhost:8080":               "tei",
		"kserve:grpc://localhost:8001?model=m":    "kserve",
	} {
		parsed, err := address.Parse(text)
		if err != nil || parsed.Scheme != scheme || parsed.String() != text {
			t.Errorf("%s: %+v (%s), %v", text, parsed, parsed, err)
		}
	}
}

func TestAddressesThatCannotBe(t *testing.T) {
	for _, text := range []string{
		"", "localhost:50061", "http://localhost", "EMBEDDED", "embedded:", "grpc:", "grpc://localhost", "unix:", "exec:", "exec:'",
		"openai:", "openai:http://localhost", "tei:", "tei:ftp://x", "kserve:", "kserve:grpc://localhost:8001?colour=red",
	} {
		parsed, err := address.Parse(text)
		if err == nil {
			// Some backends see what is missing only when they are opened.
			backend, openErr := parsed.Open(t.Context(), address.Options{})
			if err = openErr; err == nil {
				t.Errorf("%q is taken", text)
				_ = backend.Close()
			}
		}
	}
}

func TestSecretsAreNotTold(t *testing.T) {
	parsed, err := address.Parse("exec:--dir /tmp --env TOKEN=s3cret --env=KEY='s3cret too' --env PATH python3 -m judge --model x")
	if err != nil {
		t.Fatal(err)
	}
	want := "exec:--dir /tmp --env TOKEN=HIDDEN --env=KEY=HIDDEN --env PATH python3 -m judge --model x"
	if got := parsed.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := address.Parse("s3cret://user:s3cret@host"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error tells the text: %v", err)
	}
}

func TestAnAddressMayBeOpenedTwice(t *testing.T) {
	parsed, err := address.Parse("unix:" + filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		backend, err := parsed.Open(t.Context(), address.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if backend.Probe(t.Context()) == nil {
			t.Error("nobody listens there")
		}
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCertificatesNeedTLS(t *testing.T) {
	for _, text := range []string{"grpc://localhost:1", "embedded", "unix:/s"} {
		parsed, err := address.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if backend, err := parsed.Open(t.Context(), address.Options{TLS: remote.TLS{CAFile: "ca.pem"}}); err == nil {
			t.Errorf("%s takes certificates", text)
			_ = backend.Close()
		}
	}
}

func TestAModelThatIsNotThereIsAnError(t *testing.T) {
	for _, text := range []string{"embedded:no/such/folder", "embedded"} {
		parsed, err := address.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if backend, err := parsed.Open(t.Context(), address.Options{ModelDir: "no/such/folder"}); err == nil || backend != nil {
			t.Errorf("%s: %v, %v", text, backend, err)
		}
	}
}

// FuzzParse: an address that is taken tells a form that is taken, too.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"embedded", "embedded:dir", "grpc://a:1,b:2", "grpcs://[::1]:1", "unix:/s", "exec:--env A='b c' x", "openai:http://h/v1?model=m",
		"tei:grpc://h:1", "kserve:grpc://h:1?model=m",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := address.Parse(text)
		if err != nil {
			return
		}
		if _, err := address.Parse(parsed.String()); err != nil {
			t.Errorf("%q is told as %q: %v", text, parsed, err)
		}
	})
}
