package verifiers_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"plumbline/verifiers/address"
)

// Every address of the page on models is one that can be parsed; those that need
// nothing of this machine can be opened.
func TestAddressesOfTheModelsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/verifier-models.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("JUDGE_API_KEY", "sesame")
	found := regexp.MustCompile("`((?:embedded|grpc|exec|openai|tei|kserve):[^`]+)`").FindAllStringSubmatch(string(page), -1)
	opened := map[string]int{}
	for _, match := range found {
		if strings.HasSuffix(match[1], ":") {
			continue // the name of a scheme
		}
		a, err := address.Parse(match[1])
		if err != nil {
			t.Errorf("%s: %v", match[1], err)
			continue
		}
		if strings.Contains(match[1], "/models/") || a.Scheme == "exec" {
			continue
		}
		backend, err := a.Open(t.Context(), address.Options{})
		if err != nil {
			t.Errorf("%s: %v", match[1], err)
			continue
		}
		opened[a.Scheme]++
		if err := backend.Close(); err != nil {
			t.Errorf("%s: %v", match[1], err)
		}
	}
	for _, scheme := range []string{"grpc", "openai", "tei", "kserve"} {
		if opened[scheme] == 0 {
			t.Errorf("the page has no address of %s that opens", scheme)
		}
	}
}
