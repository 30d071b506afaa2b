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
		{"Three people came.", "3 people came.", ""},
		{"There were 21 of them.", "There were twenty-one of them.", ""},
		{"There were 205.", "There were two hundred and five.", ""},
		{"There were 3 million.", "There were three million.", ""},
		{"There were four.", "There were five.", "NUMBER four"},
		{"It is one of them.", "They are many.", ""},
		{"It was -5 outside.", "It was 5 outside.", "NUMBER -5"},
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
		// dates
		{"On 5 January 2020 it began.", "It began on January 5, 2020.", ""},
		{"On 5 January 2020 it began.", "It began on 2020-01-05.", ""},
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
