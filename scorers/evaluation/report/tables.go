package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"plumbline/scorers/evaluation"
	"plumbline/scorers/page"
)

// headings are the figures' names for people.
var headings = map[evaluation.Name]string{
	evaluation.AUROC:                  "AUROC",
	evaluation.BalancedAccuracy:       "BAcc",
	evaluation.BalancedAccuracyChosen: "BAcc chosen",
	evaluation.ECE15:                  "ECE-15",
	evaluation.Brier:                  "Brier",
}

var (
	all     = []evaluation.Name{evaluation.AUROC, evaluation.BalancedAccuracy, evaluation.BalancedAccuracyChosen, evaluation.ECE15, evaluation.Brier}
	ranking = all[:3]
)

// section is a table under its title.
type section struct {
	title string
	page.Table
}

// sections are all tables of the report, in its order.
func (r *Report) sections() []section {
	out := []section{
		{"Sets", r.setTable()},
		{"By document length", partTable(r.Lengths)},
		{"By claim type", partTable(r.Types)},
	}
	if r.Against != nil {
		out = append(out, section{"Against " + r.Against.Verifier.Name, r.againstTable()})
	}
	if len(r.Published) > 0 {
		out = append(out, section{"Beside published figures", r.publishedTable()})
	}
	return out
}

func head(first []string, names []evaluation.Name) []string {
	for _, n := range names {
		first = append(first, headings[n])
	}
	return first
}

func (r *Report) setTable() page.Table {
	t := page.Table{
		Caption: fmt.Sprintf("With 95 %% intervals of a bootstrap over documents. BAcc is balanced accuracy at %g; BAcc chosen is that at a threshold that never saw the row (%s). The interval of ECE may lie above its value: draws repeat rows.",
			r.Options.Threshold, r.chosenText()),
		Head: head([]string{"set", "rows", "supported", "documents"}, all),
	}
	for _, s := range r.Sets {
		row := []string{s.Name, fmt.Sprint(s.Rows), share(s.Positives, s.Rows), fmt.Sprint(s.Documents)}
		t.Rows = append(t.Rows, append(row, cells(s.Figures, all)...))
	}
	t.Rows = append(t.Rows, append([]string{fmt.Sprintf("mean of %d", r.Mean.Sets), "", "", ""}, cells(r.Mean.Figures, all)...))
	return t
}

func (r *Report) chosenText() string {
	if r.Chosen.All == nil || len(r.Chosen.Halves) == 0 {
		return "there is none: a half of the documents lacks a class"
	}
	return fmt.Sprintf("%s; the halves are judged at %.3f and %.3f, and on all rows the best is %.3f",
		r.Chosen.Method, r.Chosen.Halves[0], r.Chosen.Halves[1], *r.Chosen.All)
}

func partTable(parts []evaluation.Part) page.Table {
	t := page.Table{
		Caption: "Means over the sets that have at least ten rows of either class there.",
		Head:    head([]string{"part", "sets", "rows"}, ranking),
	}
	for _, p := range parts {
		t.Rows = append(t.Rows, append([]string{p.Name, fmt.Sprint(p.Sets), fmt.Sprint(p.Rows)}, cells(p.Figures, ranking)...))
	}
	return t
}

func (r *Report) againstTable() page.Table {
	t := page.Table{
		Caption: fmt.Sprintf("Differences to %s on the same rows, with paired 95 %% intervals and the two-sided p of the bootstrap. %d rows that only one of the two has a score for are left out.",
			r.Against.Verifier, r.Against.Unmatched),
		Head: []string{"set", "rows"},
	}
	for _, n := range ranking {
		t.Head = append(t.Head, headings[n], "p")
	}
	for _, s := range append(slices.Clone(r.Against.Sets), r.Against.Mean) {
		row := []string{s.Name, fmt.Sprint(s.Rows)}
		for _, n := range ranking {
			row = append(row, differenceCells(s.Differences[n])...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r *Report) publishedTable() page.Table {
	names := systems(r.Published)
	t := page.Table{
		Caption: "Not on the same rows: ours are those of the set here, published are whole test sets. " + r.source() + ".",
		Head:    append([]string{"set", "published as", "here"}, names...),
	}
	for _, p := range r.Published {
		i := slices.IndexFunc(r.Sets, func(s evaluation.Set) bool { return s.Name == p.Set })
		if i < 0 {
			continue
		}
		row := []string{p.Set, p.Name, percent(r.Sets[i].Figures[evaluation.BalancedAccuracy])}
		for _, name := range names {
			row = append(row, fmt.Sprintf("%.1f", p.Systems[name]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (r *Report) source() string {
	known, err := readPublished()
	if err != nil {
		return ""
	}
	return known.Source
}

func cells(figures map[evaluation.Name]evaluation.Estimate, names []evaluation.Name) []string {
	var out []string
	for _, n := range names {
		out = append(out, interval(figures[n]))
	}
	return out
}

// interval is an estimate in a cell; what has none is a dash.
func interval(e evaluation.Estimate) string {
	if e.Value == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", *e.Value, *e.Lower, *e.Upper)
}

func percent(e evaluation.Estimate) string {
	if e.Value == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f [%.1f, %.1f]", 100**e.Value, 100**e.Lower, 100**e.Upper)
}

func differenceCells(d evaluation.Difference) []string {
	if d.Value == nil {
		return []string{"–", "–"}
	}
	return []string{fmt.Sprintf("%+.3f [%+.3f, %+.3f]", *d.Value, *d.Lower, *d.Upper), fmt.Sprintf("%.3g", *d.P)}
}

func share(part, whole int) string { return fmt.Sprintf("%.2f", float64(part)/float64(max(1, whole))) }

// summary is what stands above the tables.
func (r *Report) summary() []string {
	out := []string{"Verifier: " + r.Verifier.String() + "."}
	t := r.Throughput
	if t.Seconds > 0 {
		text := fmt.Sprintf("Throughput: %d rows and %d pairs of a chunk and a claim in %.0f s, %.1f rows/s and %.1f pairs/s", t.Rows, t.Pairs, t.Seconds, float64(t.Rows)/t.Seconds, float64(t.Pairs)/t.Seconds)
		if t.ProcessorSeconds > 0 {
			text += fmt.Sprintf("; %.1f pairs per processor second", float64(t.Pairs)/t.ProcessorSeconds)
		}
		out = append(out, text+".")
	}
	for _, s := range r.Sets {
		for _, reason := range slices.Sorted(maps.Keys(s.Reasons)) {
			out = append(out, fmt.Sprintf("Not scored: %d rows of %s: %s.", s.Reasons[reason], s.Name, reason))
		}
		if f := s.Figures[evaluation.AUROC]; f.Value != nil && 4*f.Draws < 3*r.Options.Draws {
			out = append(out, fmt.Sprintf("Intervals of %s rest on %d of %d draws: the others had one class only.", s.Name, f.Draws, r.Options.Draws))
		}
	}
	return out
}

// WriteMarkdown writes the tables for people.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n", r.Title)
	for _, line := range r.summary() {
		fmt.Fprintf(&out, "\n%s\n", line)
	}
	for _, t := range r.sections() {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n", t.title, t.Caption)
		writeRow(&out, t.Head)
		rule := make([]string, len(t.Head))
		for i := range rule {
			rule[i] = "---"
		}
		writeRow(&out, rule)
		for _, row := range t.Rows {
			writeRow(&out, row)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// writeRow writes a row; a pipe in a cell would end it.
func writeRow(out *strings.Builder, row []string) {
	for _, cell := range row {
		out.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
	}
	out.WriteString("|\n")
}
