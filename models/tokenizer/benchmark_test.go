package tokenizer

import (
	"strings"
	"testing"
)

// Run with: go test -run '^$' -bench . -benchmem ./models/tokenizer

const englishParagraph = "The Treaty of Westphalia, signed in October 1648, ended the Thirty Years' War in the Holy Roman Empire; " +
	"historians disagree on whether it established modern state sovereignty. Estimates of the dead range from 4.5 to 8 million, " +
	"mostly from disease and famine, and some areas of present-day Germany lost more than half of their population.\n"

const mixedParagraph = "Příliš žluťoučký kůň úpěl ďábelské ódy. Съешь же ещё этих мягких французских булок. 東京都は日本の首都です。" +
	"한국어 문장입니다. हिन्दी में लिखा हुआ वाक्य। السلام عليكم، كيف حالك؟ Ο Οδυσσέας επέστρεψε στην Ιθάκη. 👩‍🚀 🇩🇪\n"

var benchmarkTexts = []struct{ name, text string }{
	{"English/1KB", strings.Repeat(englishParagraph, 3)},
	{"English/100KB", strings.Repeat(englishParagraph, 300)},
	{"Mixed/100KB", strings.Repeat(mixedParagraph, 200)},
	{"NoBlank/1MB", strings.Repeat("a", 1<<20)},
	{"Marks/1MB", strings.Repeat("\u0301\u0323", 1<<18)},
}

func benchmarkEncode(b *testing.B, tokenizer *Tokenizer) {
	for _, bench := range benchmarkTexts {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.text)))
			b.ReportAllocs()
			tokens := 0
			for b.Loop() {
				tokens += len(tokenizer.Encode(bench.text).IDs)
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}

func BenchmarkWordPiece(b *testing.B) {
	benchmarkEncode(b, load(b, bundledFile))
}

func BenchmarkBPE(b *testing.B) {
	benchmarkEncode(b, parse(b, readGzip[object](b, "bpe_tokenizer.json.gz")))
}

func BenchmarkUnigram(b *testing.B) {
	benchmarkEncode(b, parse(b, readGzip[object](b, "unigram_tokenizer.json.gz")))
}

func BenchmarkWordPiecePair(b *testing.B) {
	tokenizer := load(b, bundledFile)
	b.ReportAllocs()
	for b.Loop() {
		tokenizer.EncodePair(englishParagraph, "The war ended in 1648.")
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		load(b, bundledFile)
	}
}
