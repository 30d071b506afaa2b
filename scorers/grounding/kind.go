package grounding

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// The kinds are told apart by whole-sentence patterns of English assistants:
// a phrase that merely occurs in a sentence with content ("Sure, Paris is the
// capital.") leaves it factual. What no pattern names is factual, so that a
// mistake costs a needless score and never a missing one.
var (
	greeting = regexp.MustCompile(`^(?:(?:hello|hi|hey|greetings|welcome|good (?:morning|afternoon|evening|day))(?: there| everyone| all| again| [a-z]+)?|` +
		`you(?:'re| are) (?:very |most )?welcome|` +
		`(?:sure|of course|certainly|absolutely|no problem|great question|good question|that(?:'s| is) a (?:great|good) question)|` +
		`(?:i )?hope (?:this|that|it) helps(?: you)?|(?:please )?(?:let me know|don't hesitate)\b.*|(?:please )?feel free(?: (?:to|and)\b.*)?|` +
		`(?:i(?:'m| am) )?(?:happy|glad) to (?:help|assist)(?: you)?|have a (?:nice|great|good) (?:day|evening|weekend|time)|` +
		`i(?:'d| would|'ll| will) be (?:happy|glad) to (?:help|assist)\b.*)$`)
	// thanks are a greeting unless what they are for has a verb.
	thanks  = regexp.MustCompile(`^(?:many )?(?:thanks|thank you)(?: a lot| (?:so|very) much)?(?:,? \w+)?(?: for (.*))?$`)
	refusal = regexp.MustCompile(`^(?:(?:i(?:'m| am) )?(?:very |so )?sorry,? (?:but )?)?(?:unfortunately,? )?(?:(?:based on|according to|from) ` + given + `,? )?(?:` +
		`i (?:do not|don't|really don't) (?:know|have (?:enough |sufficient |any |that |this |the |specific |relevant )*(?:information|context|knowledge|data|access))\b.*|` +
		`i(?:'m| am) (?:not sure|unsure|unable to|not able to)\b.*|` +
		`i (?:cannot|can't|can not|could not|couldn't|won't|will not) (?:answer|help|assist|provide|determine|find|say|confirm|comply|verify|share|tell)\b.*|` +
		`as an? ` + machine + `,? (?:i (?:cannot|can't|can not|could not|couldn't|do not|don't|am not|am unable|have no|won't|will not)|i'm (?:not|unable)|my)\b.*|` +
		`i(?:'m| am) (?:just |only )?an? ` + machine + `\b.*|` +
		given + ` (?:(?:does|do) not|doesn't|don't) ` + how + `(?:contain|mention|provide|include|specify|say|state|give)\b.*|` +
		`the (?:answer|information)(?: (?:to|about|on) .*)? (?:is|was) not ` + how + `(?:(?:available|contained|found|given|mentioned|present|provided|stated) )?in ` + given + `|` +
		`the (?:answer|information)(?: (?:to|about|on) .*)? (?:cannot|can't|can not|could not|couldn't) be (?:determined|found)\b.*|` +
		`there is no mention of .* in ` + given + `|` +
		`there is (?:no|not enough|insufficient) (?:relevant )?(?:information|context|data)(?: (?:available|provided|given))?(?: (?:about|regarding) .*)?|` +
		`there is (?:no|not enough|insufficient) (?:relevant )?(?:information|context|evidence|data)(?: to (?:answer|determine|say|tell|confirm|decide|verify)\b.*|(?: .*)? in (?:the|this|these|your) ` + given + `(?: that .*)?)|` +
		`(?:unknown|n/a|none|no answer|not (?:known|available|specified|mentioned|stated|provided|enough information)|insufficient information|cannot be determined|unanswerable))$`)
	// contrast begins what a refusal may still say: "I'm not sure, but it opened in 1947."
	contrast = regexp.MustCompile(`[,;:] (?:but|however|although|though|yet|nevertheless)\b|;`)
	// offer is what follows a refusal and asserts nothing of the matter.
	offer = regexp.MustCompile(`^(?:i (?:can|could|would|will)|i'd|i'll|please|feel free|let me|let's|you (?:can|may|could|might)|if you|would you)\b`)
	// leadIn is a text before a colon that only announces what follows.
	leadIn = regexp.MustCompile(`(?i)^(?:here|below|these|the following|in summary|for example|for instance|as follows|see)\b|\bfollow(?:s|ing)\b|\b(?:is|are|was|were|be|include|includes|included|including|namely|by|of|as|to|with)\W*$`)
	// address is one of the web, and sourceLabel what stands before those of sources.
	address     = regexp.MustCompile(`(?i)\b(?:https?://|www\.)\S+`)
	sourceLabel = regexp.MustCompile(`(?i)^\W*(?:sources?|references?|links?|see(?: also)?)\s*:`)
)

const (
	// machine is what assistants call themselves.
	machine = `(?:ai(?: (?:assistant|chatbot|system|model|language model))?|(?:large )?language model|llm|(?:virtual )?assistant|chatbot)(?: (?:trained|developed|created|made|built) by [\w ]+)?`
	// given is what assistants call the evidence.
	given = `(?:the |this |these |your )?(?:provided |given |supplied |retrieved |available )?(?:context|documents?|passages?|text|evidence|sources?|information)(?: (?:provided|given|above|supplied))?`
	// how are the adverbs of those who find nothing in it.
	how = `(?:(?:explicitly|directly|specifically|clearly|actually) )?`
)

// kindOf says what sort of text a sentence is.
func kindOf(s sentence) plumblinev1.ClaimKind {
	switch {
	case s.block == blockCode:
		return plumblinev1.ClaimKind_CLAIM_KIND_CODE
	case namesSource(s.plain):
		return plumblinev1.ClaimKind_CLAIM_KIND_CITATION_ONLY
	case s.block == blockHeading, announces(s.plain):
		return plumblinev1.ClaimKind_CLAIM_KIND_HEADING
	case s.bold && !s.item && !endsSentence(s.plain) && !hasFiniteVerb(s.plain):
		return plumblinev1.ClaimKind_CLAIM_KIND_HEADING
	}
	return kindOfText(s.plain)
}

// namesSource says whether a sentence is nothing but citations and addresses.
func namesSource(text string) bool {
	return text == "" || address.MatchString(text) && !hasWord(address.ReplaceAllString(sourceLabel.ReplaceAllString(text, ""), ""))
}

// announces says whether a text ends with a colon and states nothing itself, as
// "She won three prizes, in 1903, 1911 and 1935:" does.
func announces(text string) bool {
	if !strings.HasSuffix(text, ":") && !strings.HasSuffix(text, "：") {
		return false
	}
	return leadIn.MatchString(text) || !hasFiniteVerb(text) || !severalDigits.MatchString(text)
}

var severalDigits = regexp.MustCompile(`\d\d`)

// kindOfText tells the kinds apart that do not depend on Markdown.
func kindOfText(text string) plumblinev1.ClaimKind {
	if asks(text) {
		return plumblinev1.ClaimKind_CLAIM_KIND_QUESTION
	}
	said := phrase(text)
	switch {
	case len(said) > maxPhrase:
	case refuses(said):
		return plumblinev1.ClaimKind_CLAIM_KIND_REFUSAL
	case greeting.MatchString(said), thanksOnly(said):
		return plumblinev1.ClaimKind_CLAIM_KIND_GREETING
	}
	return plumblinev1.ClaimKind_CLAIM_KIND_FACTUAL
}

// refuses says whether a phrase says that no answer is given, and gives none after
// a "but".
func refuses(said string) bool {
	if !refusal.MatchString(said) {
		return false
	}
	for _, border := range contrast.FindAllStringIndex(said, -1) {
		rest := strings.TrimLeft(said[border[1]:], " ,")
		if hasFiniteVerb(rest) && !refusal.MatchString(rest) && !offer.MatchString(rest) {
			return false
		}
	}
	return true
}

// maxPhrase is the longest text in bytes that may be a greeting or a refusal.
const maxPhrase = 300

// thanksOnly says whether a phrase thanks and says no more.
func thanksOnly(said string) bool {
	m := thanks.FindStringSubmatch(said)
	return len(m) == 2 && !hasFiniteVerb(m[1])
}

// phrase prepares a text for the patterns: lower case, straight apostrophes,
// no marks at the ends.
func phrase(text string) string {
	if len(text) > 2*maxPhrase {
		text = text[:2*maxPhrase]
	}
	text = strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	return strings.TrimFunc(squeeze(text), func(r rune) bool { return !isWord(r) })
}

const closers = `"'”’»)]}」』`

func endsSentence(text string) bool {
	text = strings.TrimRight(text, closers)
	r, _ := utf8.DecodeLastRuneInString(text)
	return terminal(r)
}

// terminal says whether a mark ends sentences.
func terminal(r rune) bool { return r == '…' || unicode.Is(unicode.Sentence_Terminal, r) }

// asks says whether a text ends with a question mark that is its own, not one
// of a quotation inside it.
func asks(text string) bool {
	body := strings.TrimRight(text, closers)
	r, _ := utf8.DecodeLastRuneInString(body)
	if !strings.ContainsRune("?？؟", r) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(text)
	return len(body) == len(text) || strings.ContainsRune(`"'“‘«([「『`, first)
}

// maxShortAnswer is how many words a short answer has at most.
const maxShortAnswer = 12

// finite are English words that make a sentence of a phrase: auxiliaries,
// pronouns in the nominative, and frequent verbs whose form is finite and is
// no common noun or participle.
var finite = wordSet(`
	is are was were am isn't aren't wasn't weren't has had have hasn't hadn't haven't does did do doesn't didn't don't
	will would can could may might must shall should won't wouldn't can't cannot couldn't shouldn't
	it's he's she's that's there's they're we're you're i'm i've they've we've i he she they we
	became becomes began begins came comes contains gave gives goes went got grew held includes includes kept knew knows
	lay lies led leads made makes means met occurs occurred ran says said saw sold stands stood takes took tells told thinks
	thought wrote writes won lives lived died`)

var interrogative = wordSet(`what why how when where who whom whose which whether`)

// participles are words in -ed that are more often adjectives or nouns than
// finite verbs.
var participles = wordSet(`hundred united limited sacred hatred kindred indeed speed seed need feed breed bed red shed
	creed greed weed deed advanced mixed fixed used aged based armed retired unnamed related combined`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// isShortAnswer says whether an answer is too short to be a statement: few
// words, one sentence, no finite verb.
func isShortAnswer(text string) bool {
	words := len(strings.Fields(text))
	return words > 0 && words <= maxShortAnswer && !asks(text) && !hasFiniteVerb(text)
}

// hasFiniteVerb says whether an English text has a finite verb, as far as word
// lists can tell.
func hasFiniteVerb(text string) bool {
	words := strings.Fields(strings.ReplaceAll(text, "’", "'"))
	for i, w := range words {
		w = strings.TrimFunc(w, func(r rune) bool { return !isWord(r) })
		switch {
		case i > 0:
		case interrogative[strings.ToLower(w)]:
			return false // "Why it was built" states nothing
		case w == "May" || w == "Will":
			continue // a month, a name
		}
		if finite[strings.ToLower(w)] {
			return true
		}
		first, _ := utf8.DecodeRuneInString(w)
		past := i > 0 && i+1 < len(words) && unicode.IsLower(first) && strings.HasSuffix(w, "ed") && !participles[w]
		if past {
			return true
		}
	}
	return false
}
