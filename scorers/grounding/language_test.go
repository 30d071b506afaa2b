package grounding

import (
	"path/filepath"
	"testing"

	"plumbline/internal/shareddata"
)

func TestLanguages(t *testing.T) {
	for _, c := range []struct {
		codes []string
		text  string
		known bool
	}{
		{[]string{"en"}, "The bridge opened to traffic in 1932 and it is still open today.", true},
		{[]string{"en"}, "Die Brücke wurde im Jahr 1932 für den Verkehr freigegeben und ist bis heute in Gebrauch.", false},
		{[]string{"en", "de"}, "Die Brücke wurde im Jahr 1932 für den Verkehr freigegeben.", true},
		{[]string{"en"}, "Die Brücke ist alt.", true}, // too short to tell
		{[]string{"en"}, "Þórunn Guðmundsdóttir", true},
		{[]string{"en"}, "Мост открыли в 1932 году.", false},
		{[]string{"ru"}, "Мост открыли в 1932 году.", true},
		{[]string{"en"}, "The composer is Пётр Ильич Чайковский.", true},
		{[]string{"zh"}, "这是对的。", true},
		{[]string{"ja"}, "これは東京です。", true},
		{[]string{"en"}, "1932", true},
		{nil, "这是对的。", true},
		{[]string{"no such code"}, "这是对的。", true},
	} {
		if got := newLanguages(c.codes).check(c.text) == nil; got != c.known {
			t.Errorf("%v, %q: %v", c.codes, c.text, got)
		}
	}
}

// TestEnglishIsRarelyTakenForForeign on the claims of all development sets.
func TestEnglishIsRarelyTakenForForeign(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddata.Path(t, "data", "dev"), "*.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	l := newLanguages([]string{"en"})
	claims, foreign := 0, 0
	for _, file := range files {
		read := 0
		for row := range shareddata.Rows[row](t, "data", "dev", filepath.Base(file)) {
			if read == 80 {
				break
			}
			read++
			if all, _ := l.letters(row.Claim); all < minDetectable {
				continue
			}
			claims++
			if l.check(row.Claim) != nil {
				foreign++
			}
		}
	}
	t.Logf("%d of %d English claims are taken for foreign", foreign, claims)
	if claims < 1000 || foreign*1000 > claims*2 {
		t.Errorf("%d of %d English claims are taken for foreign", foreign, claims)
	}
}

type row struct{ Doc, Claim string }
