package evaluation

import (
	"slices"

	"plumbline/scorers/calibration/stats"
)

// Name names a figure.
type Name string

// The figures of a set.
const (
	// AUROC is the chance that a supported claim scores above an unsupported
	// one, ties counting half.
	AUROC Name = "auroc"
	// BalancedAccuracy is the mean of recall and specificity at the fixed
	// threshold.
	BalancedAccuracy Name = "balanced_accuracy"
	// BalancedAccuracyChosen is the same at the threshold that was chosen on
	// the other half of the documents (see Chosen).
	BalancedAccuracyChosen Name = "balanced_accuracy_chosen"
	// ECE15 is the expected calibration error over 15 bins of equal width of
	// the support.
	ECE15 Name = "ece_15"
	// Brier is the mean squared error of the support.
	Brier Name = "brier"
)

// Estimate is a figure with its 95 % interval, or the reason why there is none.
type Estimate struct {
	Value *float64 `json:"value,omitempty"`
	Lower *float64 `json:"lower,omitempty"`
	Upper *float64 `json:"upper,omitempty"`
	// Draws is how many draws of the bootstrap gave a figure, on which the interval
	// rests: one of one class only gives none.
	Draws  int    `json:"draws,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func estimate(i stats.Interval) Estimate {
	if i.Err != nil {
		return Estimate{Reason: i.Err.Error()}
	}
	return Estimate{Value: &i.Value, Lower: &i.Lower, Upper: &i.Upper, Draws: i.Draws}
}

// Result is what an evaluation found.
type Result struct {
	Options Options `json:"options"`
	// Chosen are the thresholds behind BalancedAccuracyChosen.
	Chosen Chosen `json:"chosen_threshold"`
	// Sets are the sets by name and Mean is the mean over them.
	Sets []Set `json:"sets"`
	Mean Mean  `json:"mean"`
	// Lengths and Types are slices across sets: by length of the document and
	// by type of the claim.
	Lengths []Part `json:"by_document_length"`
	Types   []Part `json:"by_claim_type"`
	// Reliability are the bins of ECE15 over the rows of all sets together.
	Reliability []Bin `json:"reliability"`
}

// Bin is the rows whose support lies in a range.
type Bin struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
	Rows  int     `json:"rows"`
	// Support is the mean of the rows' and Supported the share of them that is
	// supported; both 0 without rows.
	Support   float64 `json:"support"`
	Supported float64 `json:"supported"`
}

// chosenMethod says how thresholds are chosen.
const chosenMethod = "cross-fitted: one threshold for all sets, with the highest mean balanced accuracy over sets on the half of the documents that is not judged at it"

// Chosen is how the chosen threshold came about.
type Chosen struct {
	Method string `json:"method"`
	// Halves are the thresholds at which the two halves are judged; empty if a
	// half lacks a set with both classes.
	Halves []float64 `json:"halves,omitempty"`
	// All is the best threshold on all rows, for other data; no figure here
	// uses it.
	All *float64 `json:"all,omitempty"`
}

// Set is one data set with its figures.
type Set struct {
	Name string `json:"name"`
	// Rows is how many there are, NotScored how many of them have no score (for
	// Reasons, with counts) and do not enter the figures.
	Rows      int            `json:"rows"`
	NotScored int            `json:"not_scored"`
	Reasons   map[string]int `json:"reasons,omitempty"`
	// Positives is how many rows are supported, Documents how many documents
	// there are.
	Positives int               `json:"positives"`
	Documents int               `json:"documents"`
	Figures   map[Name]Estimate `json:"figures"`
}

// Mean is the mean over sets.
type Mean struct {
	Sets    int               `json:"sets"`
	Figures map[Name]Estimate `json:"figures"`
}

// Part is a slice across sets. Sets and Rows are those that enter its mean.
type Part struct {
	Name    string            `json:"name"`
	Sets    int               `json:"sets"`
	Rows    int               `json:"rows"`
	Figures map[Name]Estimate `json:"figures"`
}

// lengths are the upper ends of the bins of document length, in words.
var lengths = []struct {
	most int
	name string
}{
	{50, "up to 50 words"}, {200, "51 to 200 words"}, {500, "201 to 500 words"}, {1000, "501 to 1000 words"},
}

const longest = "more than 1000 words"

func lengthName(words int) string {
	for _, l := range lengths {
		if words <= l.most {
			return l.name
		}
	}
	return longest
}

func lengthNames() []string {
	var names []string
	for _, l := range lengths {
		names = append(names, l.name)
	}
	return append(names, longest)
}

// typeNames are the types that occur, in alphabetical order.
func typeNames(rows []Row) []string {
	var names []string
	for _, r := range rows {
		names = append(names, r.Types...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
