package stats

import (
	"math"

	"plumbline/scorers/score"
)

// Bin is one bin of a reliability diagram.
type Bin struct {
	// Lower and Upper are the bin's borders: of equal width, or the least and
	// greatest probability in it.
	Lower, Upper float64
	// Count is the number of records.
	Count int
	// Confidence is the mean probability and Accuracy the share of positives;
	// both are 0 in an empty bin.
	Confidence, Accuracy float64
}

// EqualWidthBins groups records into bins of equal width over [0, 1]. A bin is
// closed on the right, (b/n, (b+1)/n]; the first holds 0 too.
func EqualWidthBins(probabilities []float64, labels []bool, bins int) ([]Bin, error) {
	if err := checkBins(probabilities, labels, bins); err != nil {
		return nil, err
	}
	assigned, err := EqualWidthAssignment(probabilities, bins)
	if err != nil {
		return nil, err
	}
	members := make([][]int, bins)
	for i, b := range assigned {
		members[b] = append(members[b], i)
	}
	out := make([]Bin, bins)
	for b := range out {
		out[b] = summarise(members[b], probabilities, labels)
		out[b].Lower, out[b].Upper = float64(b)/float64(bins), float64(b+1)/float64(bins)
	}
	return out, nil
}

// rightClosedBin finds the bin by comparing with the borders themselves: the
// product p·bins is not exact, and records sit on borders (0.2, 0.4, …) often.
func rightClosedBin(p float64, bins int) int {
	b := max(0, min(bins-1, int(p*float64(bins))))
	for b > 0 && p <= float64(b)/float64(bins) {
		b--
	}
	for b < bins-1 && p > float64(b+1)/float64(bins) {
		b++
	}
	return b
}

// EqualMassBins groups records, in order of probability, into bins of equal
// count. The border after bin b lies at b·n/bins rounded half to even; records
// of equal probability keep their order. Empty bins are left out.
func EqualMassBins(probabilities []float64, labels []bool, bins int) ([]Bin, error) {
	if err := checkBins(probabilities, labels, bins); err != nil {
		return nil, err
	}
	var out []Bin
	for _, members := range massGroups(probabilities, bins) {
		if len(members) == 0 {
			continue
		}
		bin := summarise(members, probabilities, labels)
		bin.Lower, bin.Upper = probabilities[members[0]], probabilities[members[len(members)-1]]
		out = append(out, bin)
	}
	return out, nil
}

// massGroups returns the records of each bin of equal mass, rising.
func massGroups(probabilities []float64, bins int) [][]int {
	index := order(probabilities)
	groups := make([][]int, bins)
	start := 0
	for b := range groups {
		end := int(math.RoundToEven(float64((b+1)*len(index)) / float64(bins)))
		groups[b] = index[start:end]
		start = end
	}
	return groups
}

// EqualWidthAssignment returns for each probability the number of its bin among
// bins of equal width (see EqualWidthBins).
func EqualWidthAssignment(probabilities []float64, bins int) ([]int, error) {
	if bins < 1 {
		return nil, score.InvalidInput("needs at least 1 bin, got %d", bins)
	}
	assigned := make([]int, len(probabilities))
	for i, p := range probabilities {
		assigned[i] = rightClosedBin(p, bins)
	}
	return assigned, nil
}

// EqualMassAssignment returns for each probability the number of its bin among
// bins of equal mass (see EqualMassBins).
func EqualMassAssignment(probabilities []float64, bins int) ([]int, error) {
	if bins < 1 {
		return nil, score.InvalidInput("needs at least 1 bin, got %d", bins)
	}
	assigned := make([]int, len(probabilities))
	for b, members := range massGroups(probabilities, bins) {
		for _, i := range members {
			assigned[i] = b
		}
	}
	return assigned, nil
}

func checkBins(probabilities []float64, labels []bool, bins int) error {
	if bins < 1 {
		return score.InvalidInput("needs at least 1 bin, got %d", bins)
	}
	return checkProbabilities(probabilities, labels)
}

func summarise(members []int, probabilities []float64, labels []bool) Bin {
	bin := Bin{Count: len(members)}
	if bin.Count == 0 {
		return bin
	}
	for _, i := range members {
		bin.Confidence += probabilities[i]
		if labels[i] {
			bin.Accuracy++
		}
	}
	bin.Confidence /= float64(bin.Count)
	bin.Accuracy /= float64(bin.Count)
	return bin
}

// ECE returns the expected calibration error of bins, in [0, 1]: the mean of
// |accuracy − confidence| weighted by count.
func ECE(bins []Bin) (float64, error) {
	total, sum := 0, 0.0
	for _, b := range bins {
		total += b.Count
		sum += float64(b.Count) * math.Abs(b.Accuracy-b.Confidence)
	}
	if total == 0 {
		return 0, score.TooFew("no records in any bin")
	}
	return sum / float64(total), nil
}

// MCE returns the maximum calibration error of bins, in [0, 1]: the largest
// |accuracy − confidence| of a bin that has records.
func MCE(bins []Bin) (float64, error) {
	total, worst := 0, 0.0
	for _, b := range bins {
		if b.Count > 0 {
			total += b.Count
			worst = max(worst, math.Abs(b.Accuracy-b.Confidence))
		}
	}
	if total == 0 {
		return 0, score.TooFew("no records in any bin")
	}
	return worst, nil
}

// PredictedClass turns probabilities of the positive class into confidences of
// the predicted class (the larger of p and 1 − p; one half predicts positive)
// and labels into "the prediction is right".
func PredictedClass(probabilities []float64, labels []bool) (confidence []float64, right []bool) {
	confidence = make([]float64, len(probabilities))
	right = make([]bool, len(labels))
	for i, p := range probabilities {
		confidence[i] = max(p, 1-p)
		right[i] = (p >= 0.5) == labels[i]
	}
	return confidence, right
}

// BrierScore is the Brier score with Murphy's (1973) decomposition over the
// distinct probabilities: Brier = Reliability − Resolution + Uncertainty.
type BrierScore struct {
	// Brier is the mean squared error, in [0, 1]; lower is better.
	Brier float64
	// Reliability is the mean squared distance of probability and frequency.
	Reliability float64
	// Resolution is the mean squared distance of frequency and prevalence;
	// higher is better.
	Resolution float64
	// Uncertainty is prevalence · (1 − prevalence).
	Uncertainty float64
}

// Brier returns the Brier score of probabilities with its parts.
func Brier(probabilities []float64, labels []bool) (BrierScore, error) {
	var out BrierScore
	if err := checkProbabilities(probabilities, labels); err != nil {
		return out, err
	}
	n := float64(len(probabilities))
	prevalence := float64(countTrue(labels)) / n
	out.Uncertainty = prevalence * (1 - prevalence)
	for i, p := range probabilities {
		d := p - truth(labels[i])
		out.Brier += d * d / n
	}
	for group := range descendingGroups(probabilities) {
		frequency := 0.0
		for _, i := range group {
			frequency += truth(labels[i])
		}
		weight := float64(len(group)) / n
		frequency /= float64(len(group))
		p := probabilities[group[0]]
		out.Reliability += weight * (p - frequency) * (p - frequency)
		out.Resolution += weight * (frequency - prevalence) * (frequency - prevalence)
	}
	return out, nil
}

func truth(label bool) float64 {
	if label {
		return 1
	}
	return 0
}
