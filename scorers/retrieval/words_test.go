package retrieval

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func wordsOf(text string) []string {
	var f folder
	var found []string
	eachWord(text, func(w span) { found = append(found, string(f.fold(text[w.start:w.end]))) })
	return found
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"punctuation separates", "The Lord, of—the (Rings)…", []string{"the", "lord", "of", "the", "rings"}},
		{"possessives are stripped", "O'Brien's dog, James’s cat and the Beatles' hits", []string{"obrien", "dog", "james", "cat", "and", "the", "beatles", "hits"}},
		{"curly and straight apostrophes are one", "O’Brien O'Brien don’t don't", []string{"obrien", "obrien", "dont", "dont"}},
		{"elided articles stand apart", "l'Opéra d’Artagnan dell'Arte", []string{"l", "opéra", "d", "artagnan", "dell", "arte"}},
		{"hyphens separate", "Jean-Luc F-16", []string{"jean", "luc", "f", "16"}},
		{"full case folding", "STRASSE Straße ΣΊΣΥΦΟΣ Σίσυφος", []string{"strasse", "strasse", "σίσυφοσ", "σίσυφοσ"}},
		{"one Turkish i", "İSTANBUL Istanbul ıstanbul istanbul i\u0307stanbul", []string{"istanbul", "istanbul", "istanbul", "istanbul", "istanbul"}},
		{"composed and decomposed", "Mu\u0308nchen M\u00fcnchen", []string{"münchen", "münchen"}},
		{"compatibility forms", "ＮＡＳＡ ﬁlm", []string{"nasa", "film"}},
		{"soft hyphens are invisible", "Ein\u00adstein", []string{"einstein"}},
		{"thousands and decimals", "1,000 1.000.000 3.50 3,5 007 12.05.2001", []string{"1000", "1000000", "3.5", "3.5", "7", "12.05.2001"}},
		{"a number ends with the sentence", "in 2001. In 1999, too", []string{"in", "2001", "in", "1999", "too"}},
		{"ordinals", "the 20th of 3rd", []string{"the", "20", "of", "3"}},
		{"digits of all scripts", "٢٠٠١ २००१ ２００１", []string{"2001", "2001", "2001"}},
		{"Cyrillic", "Кто написал «Войну и мир»?", []string{"кто", "написал", "войну", "и", "мир"}},
		{"Arabic", "من كتب الكتاب؟", []string{"من", "كتب", "الكتاب"}},
		{"Han by character, Latin apart", "爱因斯坦Einstein在1905年", []string{"爱", "因", "斯", "坦", "einstein", "在", "1905", "年"}},
		{"Katakana runs", "アインシュタインは", []string{"アインシュタイン", "は"}},
		{"nothing", " … — ' . ", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := wordsOf(c.text); !slices.Equal(got, c.want) {
				t.Errorf("words of %q = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

// TestWordsIgnoreNotation: neither case nor normal form nor outer punctuation
// changes the words of a text.
func TestWordsIgnoreNotation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom(nil, unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian), 1, 12, -1)
		text := letters.Draw(t, "text")
		want := wordsOf(text)
		for name, other := range map[string]string{
			"NFC": norm.NFC.String(text), "NFD": norm.NFD.String(text), "quoted": "“" + text + "”", "sentence": text + ".",
		} {
			if got := wordsOf(other); !slices.Equal(got, want) {
				t.Errorf("%s: words of %q = %q, want %q", name, other, got, want)
			}
		}
	})
}

// TestFoldIsStable: a folded word folds to itself, or a needle of the question
// could miss the same word in a text.
func TestFoldIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f folder
		once := string(f.fold(rapid.StringOfN(rapid.RuneFrom(nil, unicode.L, unicode.Nd), 1, 8, -1).Draw(t, "word")))
		if twice := string(f.fold(once)); twice != once {
			t.Errorf("%q folds on to %q", once, twice)
		}
	})
}

// TestWordsTileTheText: words come in order, without overlap, within the text,
// and whatever lies between them has no letter or digit of ASCII.
func TestWordsTileTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-z]+('s|'[a-z]+)?[ ,.0-9]*){0,8}`)).Draw(t, "text")
		at := 0
		eachWord(text, func(w span) {
			if w.start < at || w.end <= w.start || w.end > len(text) {
				t.Fatalf("word %v after %d in %q", w, at, text)
			}
			at = w.end
		})
	})
}

func entitiesOf(question string) []string {
	var found []span
	eachWord(question, func(w span) { found = append(found, w) })
	return textsOf(newQuestion(question, found, &folder{}).entities())
}

func textsOf(needles []needle) []string {
	var texts []string
	for _, n := range needles {
		texts = append(texts, n.text)
	}
	return texts
}

func TestEntities(t *testing.T) {
	for _, c := range []struct {
		name, question string
		want           []string
	}{
		{
			"spans join over connectors", "Who directed The Lord of the Rings in 2001, and was it O'Brien's idea?",
			[]string{"The Lord of the Rings", "2001", "O'Brien"},
		},
		{"curly apostrophe", "Was it O’Brien’s idea?", []string{"O’Brien"}},
		{"function word at the head", "The Beatles released what in 1969?", []string{"Beatles", "1969"}},
		{"name at the head", "Einstein was born where?", []string{"Einstein"}},
		{"function word at the head of a later sentence", "Ask Bohr. When did he meet Einstein?", []string{"Ask Bohr", "Einstein"}},
		{"no connector at the end", "Where is the Bay of the north?", []string{"Bay"}},
		{"foreign connectors", "Where did Vincent van Gogh meet Ludwig van der Rohe in Rio de la Plata?", []string{"Vincent van Gogh", "Ludwig van der Rohe", "Rio de la Plata"}},
		{"and joins nothing", "Which is larger, Paris and London?", []string{"Paris", "London"}},
		{"ampersand joins", "Who founded Johnson & Johnson?", []string{"Johnson & Johnson"}},
		{"commas separate", "Is it in Paris, London, or Rome?", []string{"Paris", "London", "Rome"}},
		{"hyphens join", "Who plays Jean-Luc Picard?", []string{"Jean-Luc Picard"}},
		{"initials and titles", "When was J. R. R. Tolkien in St. Louis with Dr. Who?", []string{"J. R. R. Tolkien", "St. Louis", "Dr. Who"}},
		{"years from 1000 to 2999", "Between 999, 1000, 2999, 3000 and 2,001?", []string{"1000", "2999"}},
		{"a year once", "Was 2001 before 2001?", []string{"2001"}},
		{"the pronoun I names nothing", "What can I do when I am in Rome?", []string{"Rome"}},
		{"shouting says nothing", "WHO DIRECTED TITANIC IN 1997?", []string{"1997"}},
		{"a headline says nothing", "What Is The Capital Of France?", nil},
		{"keywords are names", "Barack Obama", []string{"Barack Obama"}},
		{"none", "what is the boiling point of water?", nil},
		{"elided article", "Qui a construit l'Opéra Garnier?", []string{"Opéra Garnier"}},
		{"German head", "Wer schrieb Die Verwandlung?", []string{"Die Verwandlung"}},
		{"sharp s", "Wo liegt die Straße Große Freiheit?", []string{"Straße Große Freiheit"}},
		{"Cyrillic", "Кто написал роман Война и мир в 1869 году?", []string{"Война", "1869"}},
		{"Turkish capital", "Nerede bulunur İstanbul?", []string{"Nerede", "İstanbul"}},
		{"Chinese has no capitals", "谁在1905年发表了相对论？", []string{"1905"}},
		{"Arabic digits", "ماذا حدث في ٢٠٠١؟", []string{"٢٠٠١"}},
		{"decomposed letters", "Wo liegt Mu\u0308nchen?", []string{"Mu\u0308nchen"}},
		{"exclamation ends a sentence", "Look! Is it in Rome? Did Cicero live there", []string{"Look", "Rome", "Cicero"}},
		{"mathematical digits", "What was in 𝟏𝟗𝟗𝟗 or 𞥒𞥐𞥐𞥑?", []string{"𝟏𝟗𝟗𝟗", "𞥒𞥐𞥐𞥑"}},
		{"Cherokee", "ꭰꮳ or Ꭰꮳ", []string{"Ꭰꮳ"}},
		{"empty", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := entitiesOf(c.question); !slices.Equal(got, c.want) {
				t.Errorf("entities of %q = %q, want %q", c.question, got, c.want)
			}
		})
	}
}

func TestNumbersAndQuotes(t *testing.T) {
	for _, c := range []struct {
		name, question  string
		numbers, quotes []string
	}{
		{"numbers", "Did 1,000 people pay 3.50 for 5km in 1999?", []string{"1,000", "3.50", "5km", "1999"}, nil},
		{"dates are whole", "Was it on 12 May 2001, 1999-12-31, June 3rd, or the 4th of July?", []string{"12 May 2001", "1999-12-31", "June 3rd", "4th of July"}, nil},
		{"month and year", "What was filmed in September 2001 with May?", []string{"September 2001"}, nil},
		{"quotes", `Who said "to be or not", „sein oder“, «être» and 「在」?`, nil, []string{"to be or not", "sein oder", "être", "在"}},
		{"no date", "Is 2001-13-05 or 2001-05-40 or 2001-5 a date in May or 45 June?", []string{"2001", "13", "05", "40", "45"}, nil},
		{"a date in two notations is one", "Was it Sept 3, 3 Sep or 4 September?", []string{"Sept 3", "4 September"}, nil},
		{"more quotation marks", "Was it »sein«, 『在』, 《你》, 〈我〉 or “he”?", nil, []string{"sein", "在", "你", "我", "he"}},
		{"no quotation", `A 5" nail, an empty "" and O'Brien's`, []string{"5"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var found []span
			eachWord(c.question, func(w span) { found = append(found, w) })
			q := newQuestion(c.question, found, &folder{})
			if got := textsOf(q.numbers()); !slices.Equal(got, c.numbers) {
				t.Errorf("numbers = %q, want %q", got, c.numbers)
			}
			if got := textsOf(q.quotes()); !slices.Equal(got, c.quotes) {
				t.Errorf("quotes = %q, want %q", got, c.quotes)
			}
		})
	}
}

func FuzzQuestion(f *testing.F) {
	for _, seed := range []string{
		"Who directed The Lord of the Rings in 2001, and was it O'Brien's idea?",
		"«Qui» a dit “l’Opéra” le 12 May 2001?", "谁在1905年", "İ. I. ı. i\u0307", "\xff\xfe'’.1,0.", "U.S. and US",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var found []span
		eachWord(text, func(w span) { found = append(found, w) })
		q := newQuestion(text, found, &folder{})
		for _, n := range slices.Concat(q.entities(), q.numbers(), q.quotes()) {
			if n.text == "" || len(n.forms) == 0 {
				t.Fatalf("an empty needle in %q", text)
			}
			for _, form := range n.forms {
				if form == "" || strings.ContainsRune(form, otherWord) {
					t.Fatalf("needle %q of %q has the form %q, which matches what is not there", n.text, text, form)
				}
			}
		}
	})
}

// TestFoldRemembers: a word that comes again has the form it had.
func TestFoldRemembers(t *testing.T) {
	var f folder
	for range 2 {
		for word, want := range map[string]string{"STRASSE": "strasse", "Straße": "strasse", "МОСКВА": "москва", "２０th": "20"} {
			if got := string(f.fold(word)); got != want {
				t.Errorf("%q folds to %q, want %q", word, got, want)
			}
		}
	}
}
