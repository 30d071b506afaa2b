package stats

import "math"

// AURC returns the weighted area under the risk–coverage curve where labels
// tell which records are right (see the function AURC), or NaN if nothing
// weighs.
func (r *Ranked) AURC(weights []int32) float64 {
	area, wrong, seen := 0.0, 0.0, 0
	for t := range r.tallies(weights) {
		size := int(t.positives + t.negatives)
		for k := 1; k <= size; k++ {
			area += (wrong + t.negatives*float64(k)/float64(size)) / float64(seen+k)
		}
		wrong += t.negatives
		seen += size
	}
	return area / float64(seen)
}

// Brier returns the weighted Brier score of probabilities with its parts (see
// BrierScore); scores must be the probabilities that r was made from. All parts
// are NaN if nothing weighs.
func (r *Ranked) Brier(probabilities []float64, weights []int32) BrierScore {
	positives, total := 0.0, 0.0
	for t := range r.tallies(weights) {
		positives += t.positives
		total += t.positives + t.negatives
	}
	prevalence := positives / total
	out := BrierScore{Uncertainty: prevalence * (1 - prevalence)}
	for t := range r.tallies(weights) {
		p, n := t.positives, t.negatives
		if p+n == 0 {
			continue
		}
		probability, frequency, share := probabilities[t.first], p/(p+n), (p+n)/total
		out.Brier += (p*(1-probability)*(1-probability) + n*probability*probability) / total
		out.Reliability += share * (probability - frequency) * (probability - frequency)
		out.Resolution += share * (frequency - prevalence) * (frequency - prevalence)
	}
	if total == 0 {
		nan := math.NaN()
		return BrierScore{Brier: nan, Reliability: nan, Resolution: nan, Uncertainty: nan}
	}
	return out
}

// Binned is predictions that were put into bins once, for calibration errors
// of many draws.
type Binned struct {
	values   []float64
	hits     []bool
	assigned []int
	bins     int
}

// NewBinned takes probabilities or confidences, what they ought to predict, and
// the number of the bin of each, from 0 to bins − 1 (see EqualWidthAssignment
// and EqualMassAssignment).
func NewBinned(values []float64, hits []bool, assigned []int, bins int) (*Binned, error) {
	if err := checkPaired(len(values), len(hits), 1); err != nil {
		return nil, err
	}
	if err := checkPaired(len(values), len(assigned), 1); err != nil {
		return nil, err
	}
	return &Binned{values: values, hits: hits, assigned: assigned, bins: bins}, nil
}

// Errors returns the weighted expected and maximum calibration error (see ECE
// and MCE). ECE is NaN if nothing weighs.
func (b *Binned) Errors(weights []int32) (ece, mce float64) {
	confidence, hits, count := make([]float64, b.bins), make([]float64, b.bins), make([]float64, b.bins)
	total := 0.0
	for i, w := range weights {
		weight, bin := float64(w), b.assigned[i]
		confidence[bin] += weight * b.values[i]
		if b.hits[i] {
			hits[bin] += weight
		}
		count[bin] += weight
		total += weight
	}
	if total == 0 {
		return math.NaN(), 0
	}
	for bin := range b.bins {
		if count[bin] > 0 {
			gap := math.Abs(hits[bin] - confidence[bin])
			ece += gap / total
			mce = max(mce, gap/count[bin])
		}
	}
	return ece, mce
}

// OperatingPoint is what predicting positive at and above a score does.
type OperatingPoint struct {
	// Threshold is the score; +Inf for the point that predicts nothing.
	Threshold float64
	// Recall is the share of positives predicted and FalseAlarm that of
	// negatives; Precision is the share of predictions that are right, 1 where
	// nothing is predicted.
	Recall, FalseAlarm, Precision float64
}

// OperatingPoints returns one point for each distinct score, highest first,
// after the point that predicts nothing: the vertices of the ROC curve and the
// steps of the precision–recall curve. Of more than most points only most are
// returned, evenly, with both ends; 0 sets no bound. Both classes are needed.
func OperatingPoints(scores []float64, labels []bool, most int) ([]OperatingPoint, error) {
	positives, negatives, err := checkBinary(scores, labels)
	if err != nil {
		return nil, err
	}
	r, err := NewRanked(scores, labels)
	if err != nil {
		return nil, err
	}
	last := len(r.ends) // the number of the last point
	if most <= 0 || most > last {
		most = last + 1
	}
	points := append(make([]OperatingPoint, 0, most), OperatingPoint{Threshold: math.Inf(1), Precision: 1})
	hits, start := 0, 0
	for group, end := range r.ends {
		for _, record := range r.records[start:end] {
			hits += int(record % 2)
		}
		if group+1 == last*len(points)/(most-1) {
			points = append(points, OperatingPoint{
				Threshold:  scores[r.records[start]/2],
				Recall:     float64(hits) / float64(positives),
				FalseAlarm: float64(int(end)-hits) / float64(negatives),
				Precision:  float64(hits) / float64(end),
			})
		}
		start = int(end)
	}
	return points, nil
}

// RankedPair is two lists that were sorted once, for rank correlations of many
// draws.
type RankedPair struct {
	x, y [][]int // records of equal value, in rising order
}

// NewRankedPair sorts two lists of equal length with finite values.
func NewRankedPair(x, y []float64) (*RankedPair, error) {
	if err := checkPaired(len(x), len(y), 2); err != nil {
		return nil, err
	}
	if err := checkFinite("x", x); err != nil {
		return nil, err
	}
	if err := checkFinite("y", y); err != nil {
		return nil, err
	}
	return &RankedPair{x: risingGroups(x), y: risingGroups(y)}, nil
}

func risingGroups(values []float64) [][]int {
	var groups [][]int
	index := order(values)
	for start := 0; start < len(index); {
		end := start + 1
		for end < len(index) && values[index[end]] == values[index[start]] {
			end++
		}
		groups = append(groups, index[start:end])
		start = end
	}
	return groups
}

// Spearman returns the weighted rank correlation, or NaN where a list is
// constant among the records that weigh.
func (p *RankedPair) Spearman(weights []int32) float64 {
	n := len(weights)
	rx, ry := make([]float64, n), make([]float64, n)
	total := weightedRanks(p.x, weights, rx)
	weightedRanks(p.y, weights, ry)
	mean := (total + 1) / 2
	var sxy, sxx, syy float64
	for i, w := range weights {
		dx, dy, weight := rx[i]-mean, ry[i]-mean, float64(w)
		sxy += weight * dx * dy
		sxx += weight * dx * dx
		syy += weight * dy * dy
	}
	return sxy / math.Sqrt(sxx) / math.Sqrt(syy)
}

// weightedRanks writes the ranks of records that count several times and
// returns how many records that makes.
func weightedRanks(groups [][]int, weights []int32, ranks []float64) (total float64) {
	for _, group := range groups {
		size := 0.0
		for _, i := range group {
			size += float64(weights[i])
		}
		for _, i := range group {
			ranks[i] = total + (size+1)/2
		}
		total += size
	}
	return total
}
