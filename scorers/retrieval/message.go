package retrieval

import (
	"fmt"
	"math"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/score"
)

// FieldError says which field of a request is wrong. It is the caller's
// mistake: the server answers INVALID_ARGUMENT.
type FieldError struct {
	// Field is the path of the field, such as "signals[2]".
	Field string
	// Description says what is wrong and what to do.
	Description string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Description }

// Validate checks what the message's own rules cannot: that every requested
// signal exists. The error is a *FieldError.
func Validate(req *plumblinev1.ScoreRetrievalRequest) error {
	for i, name := range req.GetSignals() {
		if _, ok := registry().index[name]; !ok {
			return &FieldError{
				Field:       fmt.Sprintf("signals[%d]", i),
				Description: "no retrieval signal has this name; GetInfo lists those that exist",
			}
		}
	}
	return nil
}

// Score computes the signals of one retrieval result. Every selected signal is
// in the response, with a finite value or with the reason why there is none.
// The request is expected to have passed its rules and Validate, but no message
// makes Score panic. The caller fills in the timing.
func Score(req *plumblinev1.ScoreRetrievalRequest) *plumblinev1.ScoreRetrievalResponse {
	signals := newSignalMessages(len(req.GetSignals()))
	result := Compute(fromMessage(req), signals.add)
	resp := &plumblinev1.ScoreRetrievalResponse{
		Id:             req.GetId(),
		Signals:        signals.byName,
		Fused:          fusedMessages(result.Fused),
		FusedByService: result.FusedByService,
		Warnings:       result.Warnings,
	}
	for _, entity := range result.Entities {
		resp.Entities = append(resp.Entities, &plumblinev1.Entity{
			Text: entity.Text, Found: entity.Found, FoundInWindow: entity.FoundInWindow,
		})
	}
	for _, d := range result.Duplicates {
		resp.Duplicates = append(resp.Duplicates, &plumblinev1.DuplicateItem{
			Ranking: d.Ranking, Id: d.ID, Count: uint32(d.Count),
		})
	}
	return resp
}

// Infos returns the metadata of every signal, in the order of the table.
func Infos() []*plumblinev1.ScoreInfo {
	rows := registry().rows
	infos := make([]*plumblinev1.ScoreInfo, len(rows))
	for i := range rows {
		s := &rows[i]
		infos[i] = &plumblinev1.ScoreInfo{
			Name: s.name, Description: s.description, Range: rangeMessage(s.min, s.max), Unit: s.unit,
			WeakWhen: weakWhen(s.weakWhenHigh), Needs: append([]string(nil), s.needs...), Cost: s.cost, Source: s.source, Family: s.family,
		}
	}
	return infos
}

func rangeMessage(least, greatest float64) *plumblinev1.Range {
	r := &plumblinev1.Range{}
	if !math.IsInf(least, 0) {
		r.Min = &least
	}
	if !math.IsInf(greatest, 0) {
		r.Max = &greatest
	}
	return r
}

func weakWhen(high bool) plumblinev1.WeakWhen {
	if high {
		return plumblinev1.WeakWhen_WEAK_WHEN_HIGH
	}
	return plumblinev1.WeakWhen_WEAK_WHEN_LOW
}

// fusedMessages, like signalMessages, makes all messages in one allocation.
func fusedMessages(items []Scored) []*plumblinev1.FusedItem {
	messages := make([]plumblinev1.FusedItem, len(items))
	fused := make([]*plumblinev1.FusedItem, len(items))
	for i := range items {
		fused[i] = &messages[i]
		fused[i].Id, fused[i].Score = items[i].ID, items[i].Score
	}
	return fused
}

// signalMessages collects the signals of a response. A response has dozens:
// their messages and numbers are made in one allocation each.
type signalMessages struct {
	byName   map[string]*plumblinev1.Signal
	messages []plumblinev1.Signal
	numbers  []float64
}

// newSignalMessages has room for as many signals as were named; for all where
// none was.
func newSignalMessages(named int) *signalMessages {
	room := len(registry().rows)
	if named > 0 {
		room = min(room, named)
	}
	return &signalMessages{
		byName:   make(map[string]*plumblinev1.Signal, room),
		messages: make([]plumblinev1.Signal, room),
		numbers:  make([]float64, room),
	}
}

func (s *signalMessages) add(v Value) {
	i := len(s.byName)
	m := &s.messages[i]
	m.WeakWhen = weakWhen(v.WeakWhenHigh)
	if v.Err != nil {
		missing := score.Reason(v.Err)
		m.Status, m.Reason = missing.Status, missing.Reason
	} else {
		s.numbers[i] = v.Number
		m.Status, m.Value = plumblinev1.Status_STATUS_OK, &s.numbers[i]
		m.Reason, m.RankFused = v.Remark, v.RankFused
	}
	s.byName[v.Name] = m
}

func fromMessage(req *plumblinev1.ScoreRetrievalRequest) Request {
	r := Request{
		Question:       req.GetQuestion(),
		Rankings:       make([]Ranking, len(req.GetRankings())),
		Window:         int(req.GetWindow()),
		K:              int(req.GetK()),
		RRFConstant:    int(req.GetRrfK()),
		Temperature:    req.GetSoftmaxTemperature(),
		QueryEmbedding: req.GetQueryEmbedding(),
		IDF:            req.GetIdf(),
		Source:         req.GetCompat() == plumblinev1.Compat_COMPAT_SOURCE,
		Signals:        req.GetSignals(),
	}
	for i, ranking := range req.GetRankings() {
		r.Rankings[i] = Ranking{
			Name: ranking.GetName(), Kind: Kind(ranking.GetScoreKind()), Items: fromItems(ranking.GetItems()),
		}
		if ranking != nil {
			r.Rankings[i].CorpusMean = ranking.CorpusMeanScore
		}
	}
	return r
}

func fromItems(messages []*plumblinev1.RankedItem) []Item {
	items := make([]Item, len(messages))
	for i, m := range messages {
		items[i] = Item{
			ID: m.GetId(), Score: m.GetScore(), Title: m.GetTitle(), Text: m.GetText(), Embedding: m.GetEmbedding(),
		}
	}
	return items
}
