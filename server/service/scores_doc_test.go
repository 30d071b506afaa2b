package service_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/service"
)

var updateDocs = flag.Bool("update", false, "rewrite the documentation of scores")

// TestScoresPageListsEveryScore keeps docs/scores.md equal to what GetInfo
// tells.
func TestScoresPageListsEveryScore(t *testing.T) {
	info, err := newService(t, service.Deps{}).GetInfo(t.Context(), &plumblinev1.GetInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "scores.md")
	page := scoresPage(info.GetScores())
	if *updateDocs {
		if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != page {
		t.Error("docs/scores.md is stale: run go test ./server/service -run ScoresPage -update")
	}
}

func scoresPage(infos []*plumblinev1.ScoreInfo) string {
	var page strings.Builder
	page.WriteString(`# Every score

What ` + "`InfoService/GetInfo`" + ` tells of each. A retrieval signal is *weak when* low or
high: that is what one expects; what your corpus shows is learnt by calibration. Of
the others, the direction says how to read a high value.

Which family to try first depends on how retrieval fails. Where the ranking is
imprecise, look at spread and height; where words do not match (jargon, codes), at
agreement between a dense and a sparse retriever; where named things are asked for, at
coverage. No cheap signal sees that a hop is missing: a passage that nobody asked for
by name leaves no trace in the scores of those that were found.
`)
	family := ""
	for _, i := range infos {
		if i.GetFamily() != family {
			family = i.GetFamily()
			fmt.Fprintf(&page, "\n## %s\n\n| name | what it measures | range, unit | read | needs | cost | source |\n|---|---|---|---|---|---|---|\n", heading(family))
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s %s | %s | %s | %s | %s |\n", i.GetName(), cell(i.GetDescription()),
			interval(i.GetRange()), cell(i.GetUnit()), reading(i), cell(strings.Join(i.GetNeeds(), ", ")), cell(i.GetCost()), cell(i.GetSource()))
	}
	return page.String()
}

func heading(family string) string { return strings.ToUpper(family[:1]) + family[1:] }

// cell keeps a text within one cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}

func interval(r *plumblinev1.Range) string {
	low, high := "(−∞", "∞)"
	if r != nil && r.Min != nil {
		low = fmt.Sprintf("[%g", r.GetMin())
	}
	if r != nil && r.Max != nil {
		high = fmt.Sprintf("%g]", r.GetMax())
	}
	return low + ", " + high
}

func reading(i *plumblinev1.ScoreInfo) string {
	switch {
	case i.GetWeakWhen() == plumblinev1.WeakWhen_WEAK_WHEN_LOW:
		return "weak when low"
	case i.GetWeakWhen() == plumblinev1.WeakWhen_WEAK_WHEN_HIGH:
		return "weak when high"
	case i.GetDirection() == plumblinev1.Direction_DIRECTION_HIGHER_IS_CONFIDENT:
		return "high is confident"
	case i.GetDirection() == plumblinev1.Direction_DIRECTION_HIGHER_IS_UNCERTAIN:
		return "high is uncertain"
	default:
		return ""
	}
}
