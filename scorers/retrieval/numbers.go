package retrieval

import "strconv"

// numbers are the numbers and dates of the question, each once: dates as a
// whole, in any of the usual notations, and every other word that starts with
// a digit.
func (q *question) numbers() []needle {
	var found []needle
	for i := 0; i < len(q.tokens); {
		if d, end := q.dateAt(i); end > i {
			text := q.text[q.tokens[i].start:q.tokens[end-1].end]
			found = appendNeedle(found, text, q.notations(d)...)
			i = end
			continue
		}
		if q.tokens[i].digits {
			found = q.addNeedle(found, i, i+1)
		}
		i++
	}
	return found
}

// date is a calendar date; day or year may be 0, that is not named.
type date struct{ year, month, day int }

// dateAt reads the date that starts at token i, if one does, and returns the
// index after it. Month names are English; all-digit dates are read only in
// the order of ISO 8601, since the others are ambiguous.
func (q *question) dateAt(i int) (d date, end int) {
	if d, end = q.isoDateAt(i); end > i {
		return d, end
	}
	j := i
	if d.day = q.dayAt(j); d.day > 0 {
		j++
		if q.textAt(j) == "of" {
			j++
		}
	}
	if d.month = monthNumber(q.textAt(j)); d.month == 0 {
		return date{}, i
	}
	j++
	if d.day == 0 {
		if d.day = q.dayAt(j); d.day > 0 {
			j++
		}
	}
	if d.year = q.yearAt(j); d.year > 0 {
		j++
	}
	if d.day == 0 && d.year == 0 {
		return date{}, i // the word "may" alone
	}
	return d, j
}

func (q *question) isoDateAt(i int) (d date, end int) {
	if i+2 >= len(q.tokens) || q.gap(i, i+1) != "-" || q.gap(i+1, i+2) != "-" {
		return date{}, i
	}
	d = date{year: q.yearAt(i), month: q.dayAt(i + 1), day: q.dayAt(i + 2)}
	if d.year == 0 || d.month == 0 || d.month > 12 || d.day == 0 {
		return date{}, i
	}
	return d, i + 3
}

// textAt is the folded token i, or empty beyond the end.
func (q *question) textAt(i int) string {
	if i >= len(q.tokens) {
		return ""
	}
	return q.tokens[i].text
}

func (q *question) dayAt(i int) int {
	if s := q.textAt(i); len(s) <= 2 && allDigits(s) && number4(s) <= 31 {
		return number4(s)
	}
	return 0
}

func (q *question) yearAt(i int) int {
	if i < len(q.tokens) && q.tokens[i].isYear(q.text) {
		return number4(q.tokens[i].text)
	}
	return 0
}

func monthNames() [12]string {
	return [...]string{
		"january", "february", "march", "april", "may", "june",
		"july", "august", "september", "october", "november", "december",
	}
}

// monthNumber is 1 to 12 for an English month's name or its first three
// letters ("sept" too), else 0.
func monthNumber(word string) int {
	for i, name := range monthNames() {
		if word == name || word == name[:3] || word == "sept" && name == "september" {
			return i + 1
		}
	}
	return 0
}

// notations returns the word sequences in which a text may write the date:
// 12 May 2001, 12 of May 2001, May 12 2001, 2001-05-12, with the month's name
// in full or short.
func (q *question) notations(d date) []string {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return string(q.vocabulary.add(strconv.Itoa(n)))
	}
	day, year := number(d.day), number(d.year)
	name := monthNames()[d.month-1]
	names := []string{name, name[:3]}
	if name == "september" {
		names = append(names, "sept")
	}
	var forms []string
	for _, n := range names {
		month := string(q.vocabulary.add(n))
		forms = append(forms, day+month+year, month+day+year)
		if d.day > 0 {
			forms = append(forms, day+string(q.vocabulary.add("of"))+month+year)
		}
	}
	if d.day > 0 && d.year > 0 {
		forms = append(forms, year+number(d.month)+day)
	}
	return forms
}
