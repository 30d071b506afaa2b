package report

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"plumbline/scorers/evaluation"
)

// Published is a figure of other systems on a set of ours, or on the set that
// ours was cut from.
type Published struct {
	// Set is our set, Name the set as published.
	Set  string `json:"set"`
	Name string `json:"name"`
	// Systems are balanced accuracies at 0.5 in per cent.
	Systems map[string]float64 `json:"systems"`
}

//go:embed published.json
var publishedFile []byte

// published is the file of published figures.
type published struct {
	Source  string      `json:"source"`
	Figures []Published `json:"figures"`
}

func readPublished() (published, error) {
	var p published
	err := json.Unmarshal(publishedFile, &p)
	return p, err
}

// PublishedFor returns the published figures of sets, under the sets' names.
func PublishedFor(sets []evaluation.Set) ([]Published, error) {
	known, err := readPublished()
	if err != nil {
		return nil, err
	}
	var out []Published
	for _, s := range sets {
		for _, p := range known.Figures {
			if s.Name == p.Set || strings.HasPrefix(s.Name, p.Set+".") {
				p.Set = s.Name
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// systems are the names of all systems, in order.
func systems(figures []Published) []string {
	names := map[string]bool{}
	for _, f := range figures {
		for name := range f.Systems {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
