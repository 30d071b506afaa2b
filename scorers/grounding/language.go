package grounding

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/abadojack/whatlanggo"
	"golang.org/x/text/language"

	"plumbline/scorers/score"
)

// canon names a language as its macrolanguage and by its present code.
const canon = language.Default | language.Macro

// languages are those that a verifier says it was made for.
type languages struct {
	codes   []string // base codes, of the macrolanguage where there is one
	scripts []*unicode.RangeTable
	any     bool // one of them is written in a script without a table here
	alike   bool // one of them is none that detection knows, and would be taken for another
}

func newLanguages(codes []string) languages {
	var l languages
	for _, code := range codes {
		tag, err := canon.Parse(code)
		if err != nil {
			continue // a code that nobody knows restricts nothing
		}
		base, _ := tag.Base()
		script, _ := tag.Script()
		tables := tables(script.String())
		l.codes = append(l.codes, base.String())
		l.scripts = append(l.scripts, tables...)
		l.any = l.any || tables == nil
		l.alike = l.alike || !detectable()[base.String()]
	}
	return l
}

// scriptNames are those in the Unicode tables of ISO 15924's codes.
var scriptNames = map[string][]string{
	"Adlm": {"Adlam"}, "Arab": {"Arabic"}, "Armn": {"Armenian"}, "Beng": {"Bengali"}, "Cans": {"Canadian_Aboriginal"},
	"Cher": {"Cherokee"}, "Cyrl": {"Cyrillic"}, "Deva": {"Devanagari"}, "Ethi": {"Ethiopic"}, "Geor": {"Georgian"},
	"Grek": {"Greek"}, "Gujr": {"Gujarati"}, "Guru": {"Gurmukhi"}, "Hans": {"Han"}, "Hant": {"Han"}, "Hebr": {"Hebrew"},
	"Jpan": {"Han", "Hiragana", "Katakana"}, "Khmr": {"Khmer"}, "Knda": {"Kannada"}, "Kore": {"Hangul", "Han"}, "Laoo": {"Lao"},
	"Latn": {"Latin"}, "Mlym": {"Malayalam"}, "Mong": {"Mongolian"}, "Mymr": {"Myanmar"}, "Nkoo": {"Nko"}, "Olck": {"Ol_Chiki"},
	"Orya": {"Oriya"}, "Sinh": {"Sinhala"}, "Syrc": {"Syriac"}, "Taml": {"Tamil"}, "Telu": {"Telugu"}, "Tfng": {"Tifinagh"},
	"Thaa": {"Thaana"}, "Thai": {"Thai"}, "Tibt": {"Tibetan"}, "Vaii": {"Vai"}, "Yiii": {"Yi"},
}

// tables are the Unicode tables of an ISO 15924 script; several for the
// scripts that are written in a mixture.
func tables(script string) []*unicode.RangeTable {
	var found []*unicode.RangeTable
	for _, name := range scriptNames[script] {
		found = append(found, unicode.Scripts[name])
	}
	return found
}

// unknown says that a verifier's languages restrict nothing.
func (l languages) unknown() bool { return len(l.codes) == 0 || l.any }

// letters counts the letters of a text and those of the verifier's scripts.
func (l languages) letters(text string) (all, known int) {
	for _, r := range text {
		if r < utf8Self && !isASCIILetter(byte(r)) || !unicode.IsLetter(r) {
			continue
		}
		all++
		if unicode.IsOneOf(l.scripts, r) {
			known++
		}
	}
	return all, known
}

const utf8Self = 0x80

// readable says whether a text has letters of the verifier's scripts, or no
// letters at all.
func (l languages) readable(text string) bool {
	all, known := l.letters(text)
	return l.unknown() || all == 0 || known > 0
}

// minDetectable is how many letters the detection of a language needs. Below,
// only the script counts, so that a foreign name in a short claim trips
// nothing.
const minDetectable = 40

// check returns why a verifier cannot read a claim, or nil.
func (l languages) check(text string) *score.Missing {
	if l.unknown() {
		return nil
	}
	all, known := l.letters(text)
	foreign := all > 0 && known == 0
	if !foreign && all >= minDetectable {
		foreign = 2*known < all || l.foreign(text)
	}
	if !foreign {
		return nil
	}
	return score.UnsupportedLanguage("the verifier reads %s; the claim is in another language", strings.Join(l.codes, ", "))
}

// foreign says whether a text is reliably in a language that the verifier does
// not have. Its function words are asked first: trigram statistics take an
// English sentence of names and technical terms for French once in 600 claims,
// are undecided on short Dutch or Danish, and cost more than all else that is
// done with a short claim.
func (l languages) foreign(text string) bool {
	if l.alike {
		return false
	}
	words := strings.Fields(strings.ToLower(text))
	known, other := l.functionWords(words)
	if 12*known >= len(words) && known >= other {
		return false
	}
	info := whatlanggo.Detect(text)
	sure := info.IsReliable() || other >= 2 && 6*other >= len(words) && other > known
	return sure && info.Lang >= 0 && !slices.Contains(l.codes, baseCode(info.Lang))
}

// functionWords counts the different function words of the language that has most
// of them, among those of the verifier and among the others.
func (l languages) functionWords(words []string) (known, other int) {
	counts, seen := make([]int, len(functionWords)), make(map[string]bool, len(words))
	for _, word := range words {
		of := byFunctionWord[word]
		if len(of) == 0 || seen[word] {
			continue
		}
		seen[word] = true
		for _, i := range of {
			counts[i]++
		}
	}
	for i, n := range counts {
		if slices.Contains(l.codes, functionWords[i].code) {
			known = max(known, n)
		} else {
			other = max(other, n)
		}
	}
	return known, other
}

// functionWords are frequent words that few names have, of languages that are
// often met or close to each other.
var functionWords = []struct{ code, words string }{
	{"en", "the of and are were with that this have from who which its not been would should their after into than when is was by has for in to"},
	{"nl", "is was in de het een en dat niet voor zijn haar werd wordt naar ook bij uit nog toen ze zij hij te"},
	{"af", "is was in het en nie sy haar hy vir nog oor toe wat dit"},
	{"de", "in der das und ist nicht mit wurde wird dem ein eine zu auf für sie er von im noch als"},
	{"da", "og mens det er på som af ikke med blev har også efter ved de hun han der til ville"},
	{"no", "og mens det er på som av ikke med ble har også etter ved de hun han til ville"},
	{"sv", "och det är på som av inte med blev har också efter vid de hon han sitt att en ett"},
	{"fr", "le la les des et est pas une un du dans qui sur elle il au en ne"},
	{"es", "el la los las y se que del una un en por su al es cuando de"},
	{"ca", "el la els les es va que del una un amb seva seu de al"},
	{"it", "in il la le di che e è un una del della non nel gli"},
	{"hu", "is az és hogy nem egy volt még ez de amikor ami meg"},
	{"pl", "to na się że jest nie był była przez dla jak jego po od oraz"},
	{"cs", "to na se je že byl byla jeho který která při pro od jako až"},
	{"pt", "o os e é de que da dos uma um em para com não foi se ela ele ao"},
}

// byFunctionWord are the indices of the languages that have a word.
var byFunctionWord = func() map[string][]int {
	by := map[string][]int{}
	for i, language := range functionWords {
		for _, word := range strings.Fields(language.words) {
			by[word] = append(by[word], i)
		}
	}
	return by
}()

// detectable are the base codes of the languages that detection knows, found
// when they are first asked for: the library makes a table for each of them.
var detectable = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for lang := range whatlanggo.Langs {
		known[baseCode(lang)] = true
	}
	return known
})

// baseCode is the code that newLanguages would keep: detection tells the
// languages of a macrolanguage apart (cmn, arb, pes), verifiers do not.
func baseCode(lang whatlanggo.Lang) string {
	tag, err := canon.Parse(lang.Iso6393())
	if err != nil {
		return lang.Iso6391()
	}
	base, _ := tag.Base()
	return base.String()
}
