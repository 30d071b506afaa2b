package guarantees

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"plumbline/internal/shareddata"
)

// TestGuaranteesOnRealTexts: on answers to questions with the documents that they
// cite (LFQA), a claim scores alone as it does among others, in any order of the
// passages, and no lower with passages about something else around them.
func TestGuaranteesOnRealTexts(t *testing.T) {
	claims, evidence := realTexts(t, 4)
	scorer, engine := newScorer(t), open(t, 2)
	verifier := remember(t, engine)
	want := score(t, scorer, verifier, request(claims, evidence...))

	reversed := slices.Clone(evidence)
	slices.Reverse(reversed)
	padded := slices.Concat([]string{prose(6, 4<<10)}, evidence, []string{prose(7, 4<<10)})
	inReverse := score(t, scorer, verifier, request(claims, reversed...)).GetClaims()
	withPadding := score(t, scorer, verifier, request(claims, padded...)).GetClaims()
	for i, together := range want.GetClaims() {
		alone := score(t, scorer, engine, request(claims[i:i+1], evidence...)).GetClaims()[0] // past the cache
		alone.Id = together.GetId()
		if !proto.Equal(alone, together) {
			t.Errorf("alone\n%v\ntogether\n%v", alone, together)
		}
		if !proto.Equal(inReverse[i], together) {
			t.Errorf("in reverse\n%v\nin order\n%v", inReverse[i], together)
		}
		if before, after := together.GetSupport().GetValue(), withPadding[i].GetSupport().GetValue(); after < before {
			t.Errorf("padding lowers the support of %q from %v to %v", together.GetText(), before, after)
		}
	}
}

// realTexts are claims and all of their documents, none of them long.
func realTexts(t *testing.T, n int) (claims, evidence []string) {
	t.Helper()
	for row := range shareddata.Rows[row](t, "data", "dev", "lfqa.half.jsonl.gz") {
		if len(strings.Fields(row.Doc)) > 250 || slices.Contains(evidence, row.Doc) {
			continue
		}
		claims, evidence = append(claims, row.Claim), append(evidence, row.Doc)
		if len(claims) == n {
			return claims, evidence
		}
	}
	t.Fatalf("only %d rows with short documents", len(claims))
	return nil, nil
}
