package tokenizer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"plumbline/scorers/entail"
)

// bertSegmenter is BertNormalizer followed by BertPreTokenizer, in one pass.
type bertSegmenter struct {
	cleanText, separateHan, stripAccents, lowercase bool
	// maxBytes bounds the memory for a word without a blank: the text of a
	// longer word is cut off, its span is not.
	maxBytes int
	// sets has the properties of every code point.
	sets []runeSet
}

// newBertSegmenter reads the options of a BertNormalizer. Words longer than
// maxBytes are all the same to the model.
func newBertSegmenter(normalizer json.RawMessage, maxBytes int) (*bertSegmenter, error) {
	var options struct {
		CleanText          bool  `json:"clean_text"`
		HandleChineseChars bool  `json:"handle_chinese_chars"`
		StripAccents       *bool `json:"strip_accents"`
		Lowercase          bool  `json:"lowercase"`
	}
	if err := json.Unmarshal(normalizer, &options); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	strip := options.Lowercase
	if options.StripAccents != nil {
		strip = *options.StripAccents
	}
	return &bertSegmenter{
		cleanText:    options.CleanText,
		separateHan:  options.HandleChineseChars,
		stripAccents: strip,
		lowercase:    options.Lowercase,
		maxBytes:     maxBytes,
		sets:         newRuneSets(),
	}, nil
}

func (b *bertSegmenter) segment(text string, emit func(word)) {
	scan := bertScan{bertSegmenter: b, emit: emit}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		scan.clean(r, entail.Span{Start: at, End: at + size})
		at += size
	}
	scan.endWord()
}

// bertScan is the state of one pass. A character goes through clean, normalize,
// order and put, which are the library's steps in their order; each step hands
// on nothing, one character or several.
type bertScan struct {
	*bertSegmenter
	emit func(word)
	// word is the word under construction.
	word word
	// run has the characters since the last one of combining class 0, which
	// wait for their canonical order.
	run []combining
}

// combining is a character whose combining class is not 0.
type combining struct {
	r     rune
	class uint8
	// own says that the character stands at the front of its decomposition,
	// and span is then the place of the decomposed character.
	own  bool
	span entail.Span
}

// clean removes control characters and lets white space end words.
func (s *bertScan) clean(r rune, at entail.Span) {
	set := s.sets[r]
	switch {
	case set == 0 && len(s.run) == 0:
		s.append(r, at)
	case s.cleanText && set&dropped != 0:
	case s.cleanText && set&space != 0:
		s.endWord()
	case s.separateHan && set&han != 0:
		s.endWord()
		s.normalize(r, at)
		s.endWord()
	default:
		s.normalize(r, at)
	}
}

// normalize decomposes a character if accents are to be stripped.
func (s *bertScan) normalize(r rune, at entail.Span) {
	if !s.stripAccents {
		s.put(r, at)
		return
	}
	if s.sets[r]&decomposes == 0 {
		s.order(r, at, true)
		return
	}
	for i, d := range decompose(r) {
		s.order(d, at, i == 0)
	}
}

// order holds characters back until their canonical order is known.
func (s *bertScan) order(r rune, at entail.Span, own bool) {
	if s.sets[r]&nonstarter != 0 {
		s.run = append(s.run, combining{r: r, class: combiningClass(r), own: own, span: at})
		return
	}
	s.endRun()
	s.put(r, at)
}

// endRun puts the characters held back in canonical order. Their places do
// not move with them: each character that stands at the front of a
// decomposition takes the next place in the text and any other one that of its
// predecessor, which is how the library aligns them.
func (s *bertScan) endRun() {
	if !slices.ContainsFunc(s.run, func(c combining) bool { return s.sets[c.r]&mark == 0 }) {
		// Nothing of the run is left once marks are stripped: the usual case.
		s.run = s.run[:0]
		return
	}
	var places []entail.Span
	for _, c := range s.run {
		if c.own {
			places = append(places, c.span)
		}
	}
	slices.SortStableFunc(s.run, func(a, b combining) int { return cmp.Compare(a.class, b.class) })
	at := s.run[0].span
	for _, c := range s.run {
		if c.own {
			at, places = places[0], places[1:]
		}
		s.put(c.r, at)
	}
	s.run = s.run[:0]
}

// put strips nonspacing marks and maps to lower case.
func (s *bertScan) put(r rune, at entail.Span) {
	set := s.sets[r]
	switch {
	case s.stripAccents && set&mark != 0:
	case s.lowercase && set&cased != 0:
		for _, l := range mapRune(lowerCase, r) {
			s.separate(l, at)
		}
	default:
		s.separate(r, at)
	}
}

// separate ends words at white space and makes punctuation a word of its own.
func (s *bertScan) separate(r rune, at entail.Span) {
	switch set := s.sets[r]; {
	case set&space != 0:
		s.flush()
	case set&punctuation != 0:
		s.flush()
		s.append(r, at)
		s.flush()
	default:
		s.append(r, at)
	}
}

func (s *bertScan) append(r rune, at entail.Span) {
	if len(s.word.text) > s.maxBytes {
		s.word.spans[len(s.word.spans)-1] = at
		return
	}
	s.word.add(r, at)
}

// endWord ends the word at a border that is itself a character of combining
// class 0, so that nothing can be held back beyond it.
func (s *bertScan) endWord() {
	s.endRun()
	s.flush()
}

func (s *bertScan) flush() {
	if len(s.word.text) == 0 {
		return
	}
	s.emit(s.word)
	s.word.clear()
}
