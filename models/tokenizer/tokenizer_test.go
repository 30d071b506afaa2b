package tokenizer

import (
	"encoding/binary"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"plumbline/scorers/entail"
)

type object = map[string]any

// wordPieceFile is a small tokenizer.json.
func wordPieceFile(vocab map[string]int, maxRunes int) object {
	return object{
		"added_tokens": []object{{"content": "[CLS]", "special": true}, {"content": "[SEP]", "special": true}},
		"normalizer":   object{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true},
		"pre_tokenizer": object{
			"type": "BertPreTokenizer",
		},
		"post_processor": object{"type": "BertProcessing", "sep": []any{"[SEP]", 2}, "cls": []any{"[CLS]", 1}},
		"model": object{
			"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]",
			"continuing_subword_prefix": "##", "max_input_chars_per_word": maxRunes,
		},
	}
}

func smallFile() object {
	return wordPieceFile(map[string]int{"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "un": 3, "##able": 4, "##a": 5, "the": 6, "[": 7, "]": 8, "cls": 9}, 8)
}

func parse(tb testing.TB, file object) *Tokenizer {
	tb.Helper()
	data, err := json.Marshal(file)
	if err != nil {
		tb.Fatal(err)
	}
	t, err := Parse(data)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestEncode(t *testing.T) {
	tokenizer := parse(t, smallFile())
	for _, test := range []struct {
		name, text string
		ids        []int64
		// pieces are the stretches of the text that the tokens stand for.
		pieces []string
	}{
		{"empty", "", nil, nil},
		{"blanks only", " \t\r\n\u3000", nil, nil},
		{"longest piece first", "Unable unA", []int64{3, 4, 3, 5}, []string{"Un", "able", "un", "A"}},
		{"a word that does not cut up is one unknown token", "unthe the", []int64{0, 6}, []string{"unthe", "the"}},
		{"the longest word", "unaaaaaa", []int64{3, 5, 5, 5, 5, 5, 5}, []string{"un", "a", "a", "a", "a", "a", "a"}},
		{"a longer word is one unknown token", "unaaaaaaa", []int64{0}, []string{"unaaaaaaa"}},
		{"accents are stripped and cost no token", "t\u0301h\u00e9\u0301", []int64{6}, []string{"t\u0301h\u00e9"}},
		{"control characters are dropped inside words", "u\u0000n\u200bable", []int64{3, 4}, []string{"u\u0000n", "able"}},
		{"control tokens are text", "[CLS]", []int64{7, 9, 8}, []string{"[", "CLS", "]"}},
		{"invalid bytes count as U+FFFD, which is dropped", "t\xffh\xc3e\xe2\x82", []int64{6}, []string{"t\xffh\xc3e"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := tokenizer.Encode(test.text)
			var pieces []string
			for _, s := range got.Spans {
				pieces = append(pieces, test.text[s.Start:s.End])
			}
			if !slices.Equal(got.IDs, test.ids) || !slices.Equal(pieces, test.pieces) {
				t.Errorf("Encode(%q) = %v %q, want %v %q", test.text, got.IDs, pieces, test.ids, test.pieces)
			}
			if spans := tokenizer.Spans(test.text); !slices.Equal(spans, got.Spans) {
				t.Errorf("Spans(%q) = %v, Encode has %v", test.text, spans, got.Spans)
			}
		})
	}
}

func TestPair(t *testing.T) {
	for _, test := range []struct {
		kind      string
		processor object
		want      PairEncoding
	}{
		{
			"BertProcessing",
			object{"type": "BertProcessing", "sep": []any{"[SEP]", 2}, "cls": []any{"[CLS]", 1}},
			PairEncoding{IDs: []int64{1, 6, 6, 2, 3, 2}, TypeIDs: []int64{0, 0, 0, 0, 1, 1}},
		},
		{
			"RobertaProcessing",
			object{"type": "RobertaProcessing", "sep": []any{"[SEP]", 2}, "cls": []any{"[CLS]", 1}},
			PairEncoding{IDs: []int64{1, 6, 6, 2, 2, 3, 2}, TypeIDs: []int64{0, 0, 0, 0, 0, 0, 0}},
		},
		{
			"TemplateProcessing",
			object{
				"type": "TemplateProcessing",
				"pair": []object{
					{"Sequence": object{"id": "B", "type_id": 1}},
					{"SpecialToken": object{"id": "end", "type_id": 3}},
					{"Sequence": object{"id": "A", "type_id": 0}},
				},
				"special_tokens": object{"end": object{"ids": []int{8, 9}}},
			},
			PairEncoding{IDs: []int64{3, 8, 9, 6, 6}, TypeIDs: []int64{1, 3, 3, 0, 0}},
		},
	} {
		t.Run(test.kind, func(t *testing.T) {
			file := smallFile()
			file["post_processor"] = test.processor
			tokenizer := parse(t, file)
			got := tokenizer.EncodePair("the the", "un")
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("EncodePair = %v, want %v", got, test.want)
			}
			if n := tokenizer.PairOverhead(); n != len(got.IDs)-3 {
				t.Errorf("PairOverhead = %d for %v", n, got.IDs)
			}
		})
	}
}

func TestConcurrentUse(t *testing.T) {
	for _, file := range []object{smallFile(), bpeFile(), unigramFile()} {
		tokenizer := parse(t, file)
		text := strings.Repeat("the unable t\u0301h\u00e9 \u302e\U0001d15e ", 20)
		want := tokenizer.Encode(text)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range 50 {
					if got := tokenizer.Encode(text); !equal(got, want) {
						t.Error("another answer in a concurrent call")
					}
				}
			})
		}
		group.Wait()
	}
}

func TestTruncationAndPaddingAreIgnored(t *testing.T) {
	file := smallFile()
	file["truncation"] = object{"max_length": 2, "strategy": "LongestFirst", "stride": 0}
	file["padding"] = object{"strategy": object{"Fixed": 64}, "pad_id": 0}
	if got := parse(t, file).EncodePair(strings.Repeat("the ", 10), "un"); len(got.IDs) != 14 {
		t.Errorf("got %d tokens, want 14", len(got.IDs))
	}
}

// inModel returns a change of a file's model.
func inModel(change func(object)) func(object) {
	return func(file object) { change(file["model"].(object)) }
}

// checkParseError changes a file and checks that Parse complains about that.
func checkParseError(t *testing.T, file object, change func(object), want string) {
	t.Helper()
	change(file)
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(data); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(object)
		want   string
	}{
		{"unknown model", inModel(func(m object) { m["type"] = "WordLevel" }), `model type "WordLevel" is not supported`},
		{"no model", func(f object) { delete(f, "model") }, "model is missing"},
		{"no model type", inModel(func(m object) { delete(m, "type") }), "model has no type"},
		{"empty vocabulary", inModel(func(m object) { m["vocab"] = object{} }), "vocab is empty"},
		{"vocabulary of a wrong type", inModel(func(m object) { m["vocab"] = []int{1} }), "model: json:"},
		{"negative id", inModel(func(m object) { m["vocab"].(map[string]int)["the"] = -1 }), "negative id -1"},
		{"unknown token not in the vocabulary", inModel(func(m object) { m["unk_token"] = "<unk>" }), `unk_token "<unk>" is not in vocab`},
		{"no limit on words", inModel(func(m object) { delete(m, "max_input_chars_per_word") }), "max_input_chars_per_word is 0: it must be in 1.."},
		{"no normalizer", func(f object) { f["normalizer"] = nil }, "normalizer is missing"},
		{"other normalizer", func(f object) { f["normalizer"] = object{"type": "NFC"} }, `normalizer type "NFC" is not supported`},
		{"normalizer of a wrong type", func(f object) { f["normalizer"] = object{"type": "BertNormalizer", "lowercase": "yes"} }, "normalizer: json:"},
		{"other pre-tokenizer", func(f object) { f["pre_tokenizer"] = object{"type": "Whitespace"} }, `pre_tokenizer type "Whitespace" is not supported`},
		{"no post-processor", func(f object) { delete(f, "post_processor") }, "post_processor is missing"},
		{"other post-processor", func(f object) { f["post_processor"] = object{"type": "Cut"} }, `post_processor type "Cut" is not supported`},
		{"empty sequence", func(f object) { f["post_processor"] = object{"type": "Sequence"} }, "must be ByteLevel and a template"},
		{"incomplete special token", func(f object) {
			f["post_processor"] = object{"type": "BertProcessing", "sep": []any{"[SEP]"}, "cls": []any{"[CLS]", 1}}
		}, "post_processor: "},
		{"undefined special token", func(f object) {
			f["post_processor"] = object{"type": "TemplateProcessing", "pair": []object{{"SpecialToken": object{"id": "[X]"}}}}
		}, `"[X]", which is not in special_tokens`},
		{"pair without a hypothesis", func(f object) {
			f["post_processor"] = object{"type": "TemplateProcessing", "pair": []object{{"Sequence": object{"id": "A"}}}}
		}, "A and B once each"},
		{"pair with another sequence", func(f object) {
			f["post_processor"] = object{"type": "TemplateProcessing", "pair": []object{{"Sequence": object{"id": "C"}}}}
		}, "Sequence A and Sequence B only"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkParseError(t, smallFile(), test.change, test.want)
		})
	}
	if _, err := Parse([]byte("{\"model\":")); err == nil || !strings.Contains(err.Error(), "not a tokenizer.json") {
		t.Errorf("cut off file: error %v", err)
	}
	if _, err := Load("testdata/absent.json"); err == nil || !strings.Contains(err.Error(), "absent.json") {
		t.Errorf("absent file: error %v", err)
	}
}

// bpeFile is a byte-level BPE with the bytes 0..255 as the ids 0..255.
func bpeFile() object {
	vocab := map[string]int{"he": 256, "Ġt": 257, "Ġthe": 258, "<s>": 259, "</s>": 260}
	for b, r := range byteRunes() {
		vocab[string(r)] = b
	}
	return object{
		"added_tokens":   []object{{"content": "<s>", "special": true}, {"content": "</s>", "special": true}},
		"pre_tokenizer":  object{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"post_processor": object{"type": "RobertaProcessing", "sep": []any{"</s>", 260}, "cls": []any{"<s>", 259}, "trim_offsets": true, "add_prefix_space": false},
		"model":          object{"type": "BPE", "vocab": vocab, "merges": []any{"h e", []string{"Ġ", "t"}, "Ġt he"}},
	}
}

func unigramFile() object {
	return object{
		"added_tokens":  []object{{"content": "</s>", "special": true}},
		"pre_tokenizer": object{"type": "Metaspace", "replacement": "▁", "add_prefix_space": true},
		"post_processor": object{
			"type":           "TemplateProcessing",
			"pair":           []object{{"Sequence": object{"id": "A"}}, {"SpecialToken": object{"id": "</s>"}}, {"Sequence": object{"id": "B"}}},
			"special_tokens": object{"</s>": object{"ids": []int{0}}},
		},
		"model": object{"type": "Unigram", "unk_id": 1, "vocab": []any{
			[]any{"</s>", 0},
			[]any{"<unk>", 0},
			[]any{"▁", -3},
			[]any{"▁the", -2},
			[]any{"t", -5},
			[]any{"he", -3},
			[]any{"▁t", -4},
			[]any{"/", -4},
			[]any{"cb", -12},
			[]any{"d", -12},
			[]any{"bd", -3},
		}},
	}
}

func TestEncodeBPE(t *testing.T) {
	tokenizer := parse(t, bpeFile())
	for _, test := range []struct {
		text string
		want Encoding
	}{
		{"", Encoding{}},
		{"he the", Encoding{IDs: []int64{256, 258}, Spans: spans(0, 2, 3, 6)}},
		{"the", Encoding{IDs: []int64{'t', 256}, Spans: spans(0, 1, 1, 3)}},
		{"é", Encoding{IDs: []int64{0xC3, 0xA9}, Spans: spans(0, 2, 0, 2)}},
		{"\xff", Encoding{IDs: []int64{0xEF, 0xBF, 0xBD}, Spans: spans(0, 1, 0, 1, 0, 1)}},
		{"<s>", Encoding{IDs: []int64{'<', 's', '>'}, Spans: spans(0, 1, 1, 2, 2, 3)}},
	} {
		if got := tokenizer.Encode(test.text); !equal(got, test.want) {
			t.Errorf("Encode(%q) = %v, want %v", test.text, got, test.want)
		}
	}
}

func TestEncodeUnigram(t *testing.T) {
	tokenizer := parse(t, unigramFile())
	for _, test := range []struct {
		text string
		want Encoding
	}{
		{"", Encoding{}},
		{"the the", Encoding{IDs: []int64{3, 3}, Spans: spans(0, 3, 3, 7)}},
		{"t he", Encoding{IDs: []int64{6, 2, 5}, Spans: spans(0, 1, 1, 2, 2, 4)}},
		{"thé!", Encoding{IDs: []int64{6, 1}, Spans: spans(0, 1, 1, 5)}},
		{"</s>", Encoding{IDs: []int64{2, 1, 7, 1}, Spans: spans(0, 1, 0, 1, 1, 2, 2, 4)}},
		// An unknown c and "bd" would win without the penalty of unknown characters.
		{"cbd", Encoding{IDs: []int64{2, 8, 9}, Spans: spans(0, 1, 0, 2, 2, 3)}},
		{"the\xff\xff", Encoding{IDs: []int64{3, 1}, Spans: spans(0, 3, 3, 5)}},
	} {
		if got := tokenizer.Encode(test.text); !equal(got, test.want) {
			t.Errorf("Encode(%q) = %v, want %v", test.text, got, test.want)
		}
	}
}

// spans makes spans of their starts and ends.
func spans(borders ...int) []entail.Span {
	var out []entail.Span
	for border := range slices.Chunk(borders, 2) {
		out = append(out, entail.Span{Start: border[0], End: border[1]})
	}
	return out
}

func equal(a, b Encoding) bool {
	return slices.Equal(a.IDs, b.IDs) && slices.Equal(a.Spans, b.Spans)
}

func TestParseErrorsBPE(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(object)
		want   string
	}{
		{"a byte without an entry", inModel(func(m object) { delete(m["vocab"].(map[string]int), "Ġ") }), "no entry for the byte 0x20"},
		{"negative id", inModel(func(m object) { m["vocab"].(map[string]int)["he"] = -2 }), "negative id -2"},
		{"merge of an unknown token", inModel(func(m object) { m["merges"] = []string{"h x"} }), `merge 0: "hx" is not in vocab`},
		{"merge of three", inModel(func(m object) { m["merges"] = []string{"h e e"} }), "merge 0: it has 3 parts"},
		{"merge of a wrong type", inModel(func(m object) { m["merges"] = []int{1} }), "merge 0: json:"},
		{"dropout", inModel(func(m object) { m["dropout"] = 0.1 }), "dropout"},
		{"model of a wrong type", inModel(func(m object) { m["vocab"] = 1 }), "model: json:"},
		{"normalizer", func(f object) { f["normalizer"] = object{"type": "NFC"} }, "normalizer: only null"},
		{"other pre-tokenizer", func(f object) { f["pre_tokenizer"] = object{"type": "Metaspace"} }, `pre_tokenizer type "Metaspace" is not supported`},
		{"prefixed blank", func(f object) { f["pre_tokenizer"] = object{"type": "ByteLevel", "add_prefix_space": true} }, "add_prefix_space false only"},
		{"pre-tokenizer of a wrong type", func(f object) { f["pre_tokenizer"] = object{"type": "ByteLevel", "use_regex": 1} }, "pre_tokenizer: json:"},
		{"post-processor of a wrong type", func(f object) { f["post_processor"].(object)["trim_offsets"] = 1 }, "post_processor: json:"},
		{"sequence of a wrong type", func(f object) { f["post_processor"] = object{"type": "Sequence", "processors": []int{1}} }, "post_processor: json:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkParseError(t, bpeFile(), test.change, test.want)
		})
	}
}

func TestParseErrorsUnigram(t *testing.T) {
	charsmap := func(data ...byte) func(object) {
		return func(f object) { f["normalizer"] = object{"type": "Precompiled", "precompiled_charsmap": data} }
	}
	metaspace := func(key string, value any) func(object) {
		return func(f object) { f["pre_tokenizer"].(object)[key] = value }
	}
	for _, test := range []struct {
		name   string
		change func(object)
		want   string
	}{
		{"empty vocabulary", inModel(func(m object) { m["vocab"] = []any{} }), "vocab is empty"},
		{"entry without a score", inModel(func(m object) { m["vocab"] = []any{[]any{"a"}} }), "model: "},
		{"entry of a wrong type", inModel(func(m object) { m["vocab"] = []any{"a"} }), "model: json:"},
		{"no unknown token", inModel(func(m object) { delete(m, "unk_id") }), "unk_id must be"},
		{"unknown token outside the vocabulary", inModel(func(m object) { m["unk_id"] = 11 }), "unk_id must be"},
		{"byte fallback", inModel(func(m object) { m["byte_fallback"] = true }), "byte_fallback"},
		{"other pre-tokenizer", func(f object) { f["pre_tokenizer"] = object{"type": "Whitespace"} }, `pre_tokenizer type "Whitespace" is not supported`},
		{"pre-tokenizer of a wrong type", metaspace("split", 1), "pre_tokenizer: json:"},
		{"long mark", metaspace("replacement", "__"), "replacement must be one character"},
		{"other scheme", metaspace("prepend_scheme", "first"), `prepend_scheme "first" is not supported`},
		{"other normalizer", func(f object) { f["normalizer"] = object{"type": "NFKC"} }, `normalizer type "NFKC" is not supported`},
		{"other normalizer in a sequence", func(f object) {
			f["normalizer"] = object{"type": "Sequence", "normalizers": []object{{"type": "Lowercase"}}}
		}, `normalizer type "Lowercase" is not supported`},
		{"normalizer of a wrong type", func(f object) { f["normalizer"] = 1 }, "normalizer: json:"},
		{"other pattern", func(f object) { f["normalizer"] = object{"type": "Replace", "pattern": object{"Regex": "a"}} }, "Replace is supported for"},
		{"empty charsmap", charsmap(), "precompiled_charsmap is malformed"},
		{"charsmap without units", charsmap(0, 0, 0, 0), "precompiled_charsmap is malformed"},
		{"charsmap cut off", charsmap(8, 0, 0, 0, 1, 2, 3, 4), "precompiled_charsmap is malformed"},
		{"replacements that are no UTF-8", charsmap(4, 0, 0, 0, 0, 0, 0, 0, 0xFF), "precompiled_charsmap is malformed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkParseError(t, unigramFile(), test.change, test.want)
		})
	}
}

// TestCharsmapOutOfBounds builds a trie whose units point anywhere: lookups
// must find nothing and stay in bounds.
func TestCharsmapOutOfBounds(t *testing.T) {
	for _, unit := range []uint32{0, 1 << 8, 1<<8 | 'a', 1<<8 | 'a' | 1<<10, 0xFFFFFFFF, 'a' | 0x1FFFFF<<10, 1<<9 | 'a' | 1<<10} {
		units := make([]uint32, 256)
		for i := range units {
			units[i] = unit
		}
		units[0] = 0
		data := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
		for _, u := range units {
			data = binary.LittleEndian.AppendUint32(data, u)
		}
		file := unigramFile()
		file["normalizer"] = object{"type": "Precompiled", "precompiled_charsmap": data}
		text := "the text a\u0301 \x00"
		checkEncoding(t, text, parse(t, file).Encode(text), 11)
	}
}

// checkEncoding checks what holds for every text and every model.
func checkEncoding(t *testing.T, text string, e Encoding, vocabulary int64) {
	t.Helper()
	if len(e.IDs) != len(e.Spans) {
		t.Fatalf("%d ids, %d spans", len(e.IDs), len(e.Spans))
	}
	last := entail.Span{}
	for i, s := range e.Spans {
		if s.Start < last.Start || s.End < last.End || s.Start > s.End || s.End > len(text) {
			t.Fatalf("span %v after %v in a text of %d bytes", s, last, len(text))
		}
		if utf8.ValidString(text) && (!onBorder(text, s.Start) || !onBorder(text, s.End)) {
			t.Fatalf("span %v cuts a character", s)
		}
		if e.IDs[i] < 0 || e.IDs[i] >= vocabulary {
			t.Fatalf("id %d in a vocabulary of %d", e.IDs[i], vocabulary)
		}
		last = s
	}
}

func onBorder(text string, at int) bool { return at == len(text) || utf8.RuneStart(text[at]) }

var fuzzSeeds = []string{
	"", "The quick brown fox.", "Ünïcödé tëxt", "e\u0301\u0323 \u302e\U0001d15e", "中文 한국어 ไทย",
	"a\x00b\xff\xfe\xe2\x82", "[CLS] </s> ##x", "👨‍👩‍👧‍👦", "\r\n\t ", "İstanbul ẞ", strings.Repeat("x", 101), " a", "'s 've \u00a0 \u0085",
}

func FuzzWordPiece(f *testing.F) {
	tokenizer := load(f, bundledFile)
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		e := tokenizer.Encode(text)
		checkEncoding(t, text, e, 30522)
		// A blank ends every word, so texts joined by one are tokenised apart.
		if twice := tokenizer.Encode(text + " " + text); !slices.Equal(twice.IDs, slices.Concat(e.IDs, e.IDs)) {
			t.Errorf("%v, but the text twice is %v", e.IDs, twice.IDs)
		}
	})
}

func FuzzBPE(f *testing.F) {
	file := readGzip[object](f, "bpe_tokenizer.json.gz")
	tokenizer := parse(f, file)
	bytesOf := make(map[int64]string)
	for token, id := range file["model"].(object)["vocab"].(object) {
		bytesOf[int64(id.(float64))] = token
	}
	runes := byteRunes()
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		e := tokenizer.Encode(text)
		checkEncoding(t, text, e, int64(len(bytesOf)))
		// Nothing is lost: the tokens written side by side are the text.
		var got, want strings.Builder
		for _, id := range e.IDs {
			got.WriteString(bytesOf[id])
		}
		for _, b := range []byte(string([]rune(text))) {
			want.WriteRune(runes[b])
		}
		if got.String() != want.String() {
			t.Errorf("tokens %q of %q", got.String(), want.String())
		}
	})
}

func FuzzUnigram(f *testing.F) {
	tokenizer := parse(f, readGzip[object](f, "unigram_tokenizer.json.gz"))
	vocabulary := int64(len(tokenizer.model.(*unigram).scores))
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		checkEncoding(t, text, tokenizer.Encode(text), vocabulary)
	})
}

func addSeeds(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add(seed)
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range []object{smallFile(), bpeFile(), unigramFile()} {
		data, err := json.Marshal(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		if t, err := Parse(data); err == nil {
			t.EncodePair("the text", "un\u00e9able [SEP]")
		}
	})
}
