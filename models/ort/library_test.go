package ort

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumbline/internal/ortlib"
	"plumbline/internal/orttest"
	"plumbline/models/bundled"
)

func touch(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindPrefersWhatIsSet(t *testing.T) {
	dir := t.TempDir()
	explicit, inEnv := touch(t, filepath.Join(dir, "a.so")), touch(t, filepath.Join(dir, "b.so"))
	t.Setenv(ortlib.Env, inEnv)
	if got, err := Find(explicit); err != nil || got.Path != explicit {
		t.Errorf("explicit: %+v, %v", got, err)
	}
	if got, err := Find(""); err != nil || got.Path != inEnv {
		t.Errorf("from the environment: %+v, %v", got, err)
	}
}

func TestFindDoesNotPassOverAWrongSetting(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "absent.so"), dir} {
		if _, err := Find(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("explicit %s: %v", path, err)
		}
		t.Setenv(ortlib.Env, path)
		if _, err := Find(""); err == nil || !strings.Contains(err.Error(), ortlib.Env) {
			t.Errorf("%s=%s: %v", ortlib.Env, path, err)
		}
	}
}

func TestFindSearchesTheDefaultPlacesInOrder(t *testing.T) {
	t.Setenv(ortlib.Env, "")
	root := t.TempDir()
	t.Chdir(root)
	executable := filepath.Join(root, "app", "bin", "plumbline")
	places := candidates(executable)
	want := []string{
		filepath.Join(root, "app", "bin", "lib", ortlib.Host().FileName()),
		ortlib.Host().CachePath("."),
		ortlib.Host().CachePath(filepath.Join(root, "app", "bin")),
		ortlib.Host().CachePath(filepath.Join(root, "app")),
	}
	if strings.Join(places, "\n") != strings.Join(want, "\n") {
		t.Fatalf("places = %q, want %q", places, want)
	}
	// From the last place to the first: each new file takes precedence.
	for i := len(places) - 1; i >= 0; i-- {
		touch(t, places[i])
		if got := search(places); got.Path != places[i] || len(got.Looked) != i {
			t.Errorf("with places from %d on: %+v", i, got)
		}
	}
	if got := search([]string{filepath.Join(root, "absent")}); got.Path != ortlib.Host().FileName() {
		t.Errorf("nothing found: %+v, want the bare name for the system's loader", got)
	}
}

func TestOpenSaysWhereItLookedAndWhatToDo(t *testing.T) {
	model, err := bundled.Load()
	if err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(t.TempDir(), "absent.so")
	for name, library := range map[string]Library{
		"not found":     {Path: "libplumbline-has-no-such-library.so", Looked: []string{absent}},
		"not a library": {Path: touch(t, filepath.Join(t.TempDir(), "garbage.so"))},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(library, model)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append([]string{library.Path, "make setup", ortlib.Env}, library.Looked...) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not name %q", err, want)
				}
			}
		})
	}
}

func TestOneProcessHasOneLibrary(t *testing.T) {
	path := orttest.Library(t)
	model, err := bundled.Load()
	if err != nil {
		t.Fatal(err)
	}
	first, err := Open(Library{Path: path}, model)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Library{Path: path + ".other"}, model); err == nil || !strings.Contains(err.Error(), "already loaded") {
		t.Errorf("a second library: %v", err)
	}
	second, err := Open(Library{Path: path}, model)
	if err != nil {
		t.Fatal(err)
	}
	for _, session := range []*Session{first, second, first} {
		if err := session.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	// Closing twice counted once: the library is free for anybody now.
	if environment.users != 0 {
		t.Errorf("%d users after the last Close", environment.users)
	}
}
