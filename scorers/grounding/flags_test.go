package grounding

import (
	"fmt"
	"strings"
	"testing"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

func TestMismatches(t *testing.T) {
	for _, c := range []struct{ claim, evidence, want string }{
		// numbers
		{"It holds 888.", "It holds **999**.", "NUMBER 888"},
		{"It holds 999.", "It holds **999**.", ""},
		{"It has 1,234 seats.", "It has 1234 seats.", ""},
		{"It has 1.234 seats.", "It has 1,234 seats.", ""},
		{"It has 1’234’567 seats.", "It has 1,234,567 seats.", ""},
		{"It rose 3,5 points.", "It rose 3.5 points.", ""},
		{"It rose 3.50 points.", "It rose 3.5 points.", ""},
		{"It cost 1.2 million.", "It cost 1,200,000.", ""},
		{"It cost 1.2 million.", "It cost 1.2 billion.", "NUMBER 1.2 million"},
		{"It cost 5k.", "It cost 5,000.", ""},
		{"The flood killed 1,000 people.", "The flood killed 100 people in one night.", "NUMBER 1,000"},
		{"It has 50.000 seats.", "There are 50 buses.", "NUMBER 50.000"},
		{"It has 50.000 seats.", "There are 50,000.", ""},
		{"It is 0.000 long.", "It is 0 long.", ""},
		{"It is 0.234 long.", "It is 234 long.", "NUMBER 0.234"},
		{"It has 1 234 567 seats.", "It has 1,234,567 seats.", ""},
		{"It has 1,234,567 seats.", "It has 1\u2009234\u2009567 seats.", ""},
		{"It has 1\u00a0234,5 seats.", "It has 1,234.5 seats.", ""},
		{"It has 1\u202f234 seats.", "It has 1 in 234 seats.", "NUMBER 1\u202f234"},
		{"It has 1 234 seats.", "It has 1 and 234 seats.", ""}, // may be two numbers
		{"It has 1 234 seats.", "It has 1 or 235 seats.", "NUMBER 1 234"},
		{"It has 345 seats.", "Of the 12 345 were there.", ""},
		{"In 1999 200 came.", "In 1999 it was 200.", ""},
		{"In 1999 200 came.", "It was 1,999,200.", "NUMBER 1999; NUMBER 200"},
		{"On March 5 200 came.", "On 5 March it was 200.", ""},
		{"See 100 200 300 400 500 600.", "See 100.", "NUMBER 200; NUMBER 300; NUMBER 400; NUMBER 500; NUMBER 600"},
		{"It has 12,34,567 seats.", "It has 1,234,567 seats.", ""},
		{"It has 2.5 seats.", "It has 2½ seats.", ""},
		{"It has 2 ½ seats.", "It has 2 1/2 seats.", ""},
		{"It has 3½ seats.", "It has 2½ seats.", "NUMBER 3½"},
		{"It rose by 0.75.", "It rose by ¾.", ""},
		{"It rose .5 percent.", "It rose 0.5 percent.", ""},
		{"It rose 0.5.", "It rose (.5).", ""},
		{"It rose .6 percent.", "It rose 6 or 0.5 percent.", "NUMBER .6 percent"},
		{"It ended.5 came.", "There were 5.", ""},
		{"It has 1 million seats.", "It has a million seats.", ""},
		{"It has 100 seats.", "It has a hundred seats.", ""},
		{"It has 105 seats.", "It has a hundred and five seats.", ""},
		{"It has 12 or 24 eggs.", "It has a dozen or two dozen eggs.", ""},
		{"It has a thousand seats.", "It has a hundred seats.", "NUMBER a thousand"},
		{"It has 1 million seats.", "It has half a million seats.", "NUMBER 1 million"},
		{"It has a seat.", "It has seats.", ""},
		{"It opens at 9:00 a.m.", "It opens at 9 a.m.", ""},
		{"It opens at 9 a.m.", "It opens at 09:00.", ""},
		{"It opens at 9:00.", "It opens at 9:30.", "NUMBER 00"},
		{"It opens at 9:30.", "It opens at 9 a.m.", "NUMBER 30"},
		{"See bbc.com/news/uk-12345678.", "It is news.", ""},
		{"See https://example.org/a?id=77, www.example88.org and /99.", "It is news.", "NUMBER 99"},
		{"见https://example.org/1该桥于1947年开放。", "该桥于1932年开放。", "NUMBER 1947"},
		{"Step 1: Heat it.", "Heat it.", ""},
		{"Step Two: Heat it.", "Heat it.", ""},
		{"Fig. 3: It is hot.", "It is hot.", ""},
		{"In 1947: it opened.", "In 1932 it opened.", "NUMBER 1947"},
		{"The Vikings won 3: it was late.", "They won.", "NUMBER 3; NAME Vikings"},
		{"Three people came.", "3 people came.", ""},
		{"There were 21 of them.", "There were twenty-one of them.", ""},
		{"There were 205.", "There were two hundred and five.", ""},
		{"There were 3 million.", "There were three million.", ""},
		{"There were four.", "There were five.", "NUMBER four"},
		{"It is one of them.", "They are many.", ""},
		{"It was -5 outside.", "It was 5 outside.", "NUMBER -5"},
		{"It was -5 °C outside.", "It was minus 5 °C outside.", ""},
		{"It was -5 °C outside.", "It was –5 °C outside.", ""},
		{"It was minus five.", "It was (-5).", ""},
		{"It was minus 5 outside.", "It was 5 outside.", "NUMBER minus 5"},
		{"They got 5 more.", "It is 10 minus 5.", ""},
		{"The error is ±5%.", "The error is plus or minus 5%.", ""},
		{"From 10-20 people.", "From 10 to 20 people.", ""},
		{"He took vitamin B12.", "He took a vitamin.", "NAME B12"},
		{"Version 3.5.1 is out.", "Version 3.5.1 came out.", ""},
		{"Version 3.5.2 is out.", "Version 3.5.1 came out.", "NUMBER 3.5.2"},
		{"It was the 5th time.", "It was time 5.", ""},
		{"In the 1990s it grew.", "It grew in 1990.", ""},
		{"In 1947 it opened.", "In 1932 it opened.", "NUMBER 1947"},
		{"It came 3rd.", "It came third.", ""},
		{"It was the twenty-first time.", "It was the 21st time.", ""},
		{"It was the 22nd time.", "It was the twenty-first time.", "NUMBER 22"},
		{"It was the third time.", "It was the fourth time.", ""}, // ordinals in words raise no flag
		{"It has one thousand two hundred seats.", "It has 1,200 seats.", ""},
		{"It has 13,005 seats.", "It has thirteen thousand and five seats.", ""},
		{"It has three thousand seats.", "It has 3,000 seats.", ""},
		{"Between one thousand and two thousand people came.", "Between 1,000 and 2,000 people came.", ""},
		{"Some one hundred to two hundred came.", "Between 100 and 200 came.", ""},
		{"The delay is 10 seconds.", "It has a ten-second delay.", ""},
		{"In 2 of them it rained.", "In the second it rained.", "NUMBER 2"},
		{"In the 2nd it rained.", "In the second it rained.", ""},
		{"该市有3万人。", "该市有30000人。", ""},
		{"于1932年3月19日开放。", "It opened on 19 March 1932.", ""},
		{"该桥于1932年开放。", "It opened in 1932.", ""},
		{"It opened in 1932.", "该桥于1932年开放。", ""},
		{"该桥于1947年开放。", "该桥于1932年开放。", "NUMBER 1947"},
		// units
		{"It rose 50%.", "It rose 50 percent.", ""},
		{"It rose 50 per cent.", "It rose 50%.", ""},
		{"It weighs 5 kg.", "It weighs 5 kilograms.", ""},
		{"It weighs 5 kg.", "It weighs 5 mg.", "UNIT 5 kg"},
		{"It weighs 5 kg.", "It weighs 5.", ""},
		{"It costs $999.", "It costs 999 dollars.", ""},
		{"It costs €999.", "It costs 999 dollars.", "UNIT 999"},
		{"It costs **$999** million.", "It costs 999 million dollars.", ""},
		{"A 5-mile run.", "A run of 5 miles.", ""},
		{"A 5\u2009km run.", "A run of 5 km.", ""},
		{"It costs $1.5B.", "It costs $1.5 billion.", ""},
		{"It costs $2T.", "It costs 2 trillion dollars.", ""},
		{"It costs $5 M.", "It costs $5,000,000.", ""},
		{"It costs $5B.", "It costs $5M.", "NUMBER 5B"},
		{"It costs $5M.", "It costs $5.", "NUMBER 5M"},
		{"It is 5m long.", "It is 5 metres long.", ""},
		{"It is a $5 T-shirt.", "The T-shirt costs $5.", ""},
		// dates
		{"On 5 January 2020 it began.", "It began on January 5, 2020.", ""},
		{"On 5 January 2020 it began.", "It began on 2020-01-05.", ""},
		{"On 5 January 2020 it began.", "It began on 2020-01-05T10:30:00Z.", ""},
		{"On 5 January 2020 at 10:30 it began.", "It began on 2020-01-05T10:30:00Z.", ""},
		{"On 5 January 2020 it began.", "It began on 2020/01/05.", ""},
		{"On 2020/01/06 it began.", "It began on 5 January 2020.", "DATE 2020/01/06"},
		{"In April 2020 it began.", "It began in 2020-04.", ""},
		{"It began in 2020-04.", "It began in May 2020.", "DATE 2020-04"},
		{"They won in the 2003-04 season.", "They won in the 2003–04 season.", ""},
		{"On 5 January 2020 it began.", "It is at example.org/2020/01/05/it.", ""},
		{"It is at example.org/2020/01/05/it.", "It began.", ""},
		{"On January 5th it began.", "It began on Jan. 5, 2020.", ""},
		{"On 6 January 2020 it began.", "It began on January 5, 2020.", "DATE 6 January 2020"},
		{"In January 2020 it began.", "It began on January 5, 2020.", ""},
		{"In 2020 it began.", "It began on January 5, 2020.", ""},
		{"On 5/1/2020 it began.", "It began on 5 January 2020.", ""},
		{"On 5 January 2020 it began.", "It began in January.", "DATE 5 January 2020"},
		{"May 5 people come?", "5 people may come.", "DATE May 5"},
		{"They march 20 miles.", "They march 20 miles.", ""},
		{"They march 20 miles.", "They go 20 miles.", ""},
		{"You may 5 times.", "5 times.", ""},
		{"It opened on 5 March 2020.", "it opened on 5 march 2020.", ""},
		// names
		{"The lab was led by Ann Lee.", "Ann Lee led it.", ""},
		{"The lab was led by Ann Lee.", "Bob Lee led it.", "NAME Ann Lee"},
		{"Marie Curie got it.", "It went to M. Curie.", "NAME Marie Curie"},
		{"He met Renée Zoë.", "He met Renee Zoe.", ""},
		{"He liked Ann's house.", "The house of Ann.", ""},
		{"Dogs are animals.", "Cats are animals.", ""},
		{"He works at the University of Oslo.", "He works in Oslo, at its university.", ""},
		{"In March he met the Prime Minister of Norway.", "He met the prime minister of Norway in March.", ""},
		{"Dr. Smith led it.", "Dr. Jones led it.", "NAME Smith"},
		{"Then she met Mrs. Thatcher in old St. Louis.", "She met Mrs. May in Paris.", "NAME Thatcher; NAME Louis"},
		{"Gen. Lee won it.", "General Lee won it.", ""},
		{"They won group 5. Dogs bark.", "They won group 5.", ""},
		{"It was he (Dr. Smith).", "It was Dr. Jones.", "NAME Smith"},
		{"J. K. Rowling wrote it.", "J. K. Jones wrote it.", "NAME Rowling"},
		{"He said \"yes.\" Dogs bark.", "He said yes. Cats do not bark.", ""},
		{"THE LAB WAS LED BY ANN.", "Nothing.", ""},
		{"I think I know.", "Nothing.", ""},
		{"From what I've read, it opened.", "It opened.", ""},
		{"He said, \"Don't go.\"", "He said not to go.", ""},
		{"It was led by O'Brien.", "It was led by O'Neill.", "NAME O'Brien"},
		{"Release Date: 5 May 2020", "It was released on 5 May 2020.", ""},
		{"Country: France; Total Revenue: 5; Opened in: 1932", "France had a revenue of 5 in 1932.", ""},
		{"Country: France; Capital: the city of New Paris", "The capital of France is Lyon.", "NAME New Paris"},
		{"Project Phase 2: it ended.", "It ended.", ""},
		{"It was won by Ann Lee: she ran.", "She ran.", "NAME Ann Lee"},
		{"He came; Bob left.", "He came.", "NAME Bob"},
		{"It is big in the UK and US.", "It is big in the U.K. and U.S.", ""},
		{"It is big in the US.", "It is big in the U.K.", "NAME US"},
		{"It has PCs.", "It has a PC.", ""},
	} {
		var got []string
		for _, m := range mismatches(c.claim, tell(c.evidence)) {
			kind := strings.TrimSuffix(strings.TrimPrefix(m.flag.String(), "FLAG_"), "_MISMATCH")
			got = append(got, kind+" "+m.text)
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%q against %q: %q, want %q", c.claim, c.evidence, s, c.want)
		}
	}
}

func TestMismatchesAreBounded(t *testing.T) {
	var claim strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&claim, "%d ", 1000+i)
	}
	claim.WriteString("It was Ida Lind.")
	found := mismatches(claim.String(), tell("Nothing."))
	if last := found[len(found)-1]; last.flag != plumblinev1.Flag_FLAG_NAME_MISMATCH {
		t.Errorf("the last of many is %v: other kinds must not push a name out", last)
	}
	if n := len(found) - 1; n != maxMismatches {
		t.Errorf("%d mismatches", n)
	}
}
