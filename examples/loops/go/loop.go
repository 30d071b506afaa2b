package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/proto/plumbline/v1/plumblinev1connect"
	"plumbline/scorers/telemetry/agent"
)

// samples is how many answers a replacement gate looks at, the probe's among
// them.
const samples = 5

// loop is BeyondUncertainty with a choice of gates.
type loop struct {
	model      *model
	retriever  *retriever
	gate       plumblinev1connect.GateServiceClient
	confidence plumblinev1connect.ConfidenceServiceClient
	telemetry  plumblinev1connect.TelemetryServiceClient
}

// decision is what a gate, or the agent, decided.
type decision struct {
	By     string `json:"by"`
	Action string `json:"action"`
	guess  string // the answer that stands if nothing is searched for
	query  string // what to search for
}

func (d decision) searches() bool { return d.Action != "NO_RETRIEVAL" && d.Action != "COMMIT" }

// solve answers a question: one probe, the gate, and if it says so one search
// and an answer from the passages.
func (l *loop) solve(ctx context.Context, gate, question string) (answer string, d decision, passages []passage, err error) {
	replies, err := l.model.chat(ctx, agent.ProbePrompt(question), chatRequest{MaxTokens: 256})
	if err != nil {
		return "", d, nil, err
	}
	switch gate {
	case "native":
		d, err = l.native(ctx, question, replies[0].text)
	case "plumbline":
		d, err = l.plumbline(ctx, question, replies[0].text)
	case "calvert":
		d, err = l.calvert(ctx, question, replies[0].text)
	default:
		err = fmt.Errorf("there is no gate %q: take native, plumbline or calvert", gate)
	}
	if err != nil || !d.searches() {
		return d.guess, d, nil, err
	}
	passages = l.retriever.search(d.query)
	final, err := l.model.chat(ctx, answerPrompt(question, passages), chatRequest{MaxTokens: 32})
	if err != nil {
		return "", d, nil, err
	}
	return final[0].text, d, passages, nil
}

// native decides by the confidence that the probe states. What the probe
// suggests to do is not used.
func (l *loop) native(ctx context.Context, question, reply string) (decision, error) {
	probe := agent.ParseProbe(reply)
	stated := structpb.NewNumberValue(probe.Confidence)
	if probe.NoConfidence != nil {
		stated = structpb.NewNullValue() // missing: the policy then retrieves
	}
	response, err := l.gate.Decide(ctx, &plumblinev1.DecideRequest{
		Policy:  "beyond_uncertainty",
		Subject: &plumblinev1.DecideRequest_Inputs{Inputs: &structpb.Struct{Fields: map[string]*structpb.Value{"verbalized": stated}}},
	})
	if err != nil {
		return decision{}, err
	}
	return decided(response, probe.Answer, question), nil
}

// plumbline decides by the confidence of the majority answer, in one call.
func (l *loop) plumbline(ctx context.Context, question, reply string) (decision, error) {
	request, err := l.belief(ctx, question, reply)
	if err != nil {
		return decision{}, err
	}
	observed, err := l.telemetry.Observe(ctx, &plumblinev1.ObserveRequest{
		Confidence: request,
		Policies:   []string{"beyond_uncertainty.plumbline"},
	})
	if err != nil {
		return decision{}, err
	}
	result := observed.GetDecisions()[0]
	if fault := result.GetError(); fault != nil {
		return decision{}, fmt.Errorf("the policy could not decide: %s", fault.GetMessage())
	}
	return decided(result.GetResponse(), request.GetMainAnswer(), question), nil
}

// calvert puts the scores into the prompt and lets the model choose.
func (l *loop) calvert(ctx context.Context, question, reply string) (decision, error) {
	request, err := l.belief(ctx, question, reply)
	if err != nil {
		return decision{}, err
	}
	observed, err := l.telemetry.Observe(ctx, &plumblinev1.ObserveRequest{Confidence: request})
	if err != nil {
		return decision{}, err
	}
	guess := request.GetMainAnswer()
	choices, err := l.model.chat(ctx, actionPrompt(question, guess, observed.GetPromptBlock()), chatRequest{MaxTokens: 256})
	if err != nil {
		return decision{}, err
	}
	return chosen(choices[0].text, guess, question), nil
}

// chosen reads what the agent chose. A malformed reply retrieves, as a missing
// input of a policy would.
func chosen(reply, guess, question string) decision {
	choice, err := agent.ParseReply(reply, question)
	if err != nil { // a *MalformedError
		return decision{By: "agent, malformed reply", Action: "RETRIEVE", guess: guess, query: question}
	}
	return decision{
		By:     "agent",
		Action: actionName(choice.Action),
		guess:  cmp.Or(choice.Answer, guess),
		query:  cmp.Or(choice.Query, question),
	}
}

func decided(response *plumblinev1.DecideResponse, guess, question string) decision {
	return decision{By: response.GetDecidedBy(), Action: actionName(response.GetAction()), guess: guess, query: question}
}

func actionName(a plumblinev1.Action) string { return strings.TrimPrefix(a.String(), "ACTION_") }

// belief is the request that scores the majority of the probe's answer and a
// few samples: the others for self-consistency, and the distinct answers with
// P(true), the likeliest first, for the normalised confidence.
func (l *loop) belief(ctx context.Context, question, reply string) (*plumblinev1.ScoreConfidenceRequest, error) {
	given, err := l.model.chat(ctx, answerPrompt(question, nil), chatRequest{N: samples - 1, Temperature: 1, MaxTokens: 32, Logprobs: true})
	if err != nil {
		return nil, err
	}
	if probe := agent.ParseProbe(reply); probe.Answer != "" {
		given = slices.Insert(given, 0, completion{text: probe.Answer})
	}
	at := majority(given)
	request := &plumblinev1.ScoreConfidenceRequest{
		Question:        question,
		MainAnswer:      given[at].text,
		RawOutput:       reply,
		ConfidenceScale: plumblinev1.ConfidenceScale_CONFIDENCE_SCALE_UNIT,
	}
	for i, s := range given {
		if i != at { // the main answer's own sample does not count
			request.Samples = append(request.Samples, &plumblinev1.Sample{Text: s.text})
		}
	}
	rivals := rivalsOf(given, given[at].text)
	pTrue, err := l.pTrue(ctx, question, append([]string{request.GetMainAnswer()}, rivals...))
	if err != nil {
		return nil, err
	}
	request.PTrue = pTrue[0]
	for i, rival := range rivals {
		request.Alternatives = append(request.Alternatives, &plumblinev1.Alternative{Text: rival, PTrue: pTrue[i+1]})
	}
	return request, nil
}

// pTrue is P(true) of each candidate, nil where the model said neither yes nor
// no. Plumbline reads it from the first token, over all spellings of both.
func (l *loop) pTrue(ctx context.Context, question string, candidates []string) ([]*float64, error) {
	batch := &plumblinev1.BatchScoreConfidenceRequest{}
	for _, c := range candidates {
		replies, err := l.model.chat(ctx, judgePrompt(question, c), chatRequest{MaxTokens: 1, Logprobs: true, TopLogprobs: 20})
		if err != nil {
			return nil, err
		}
		batch.Requests = append(batch.Requests, &plumblinev1.ScoreConfidenceRequest{FirstTokenLogprobs: replies[0].first})
	}
	response, err := l.confidence.BatchScoreConfidence(ctx, batch)
	if err != nil {
		return nil, err
	}
	var all []*float64
	for _, result := range response.GetResults() {
		if fault := result.GetError(); fault != nil {
			return nil, fmt.Errorf("P(true) could not be read: %s", fault.GetMessage())
		}
		var p *float64
		if s := result.GetResponse().GetPTrue(); s.GetStatus() == plumblinev1.Status_STATUS_OK {
			p = proto.Float64(s.GetValue())
		}
		all = append(all, p)
	}
	return all, nil
}

// key is what makes two short answers the same to the majority.
func key(text string) string { return strings.Trim(strings.ToLower(text), " .") }

// majority is the index of the first of the commonest answers.
func majority(given []completion) int {
	counts := map[string]int{}
	for _, c := range given {
		counts[key(c.text)]++
	}
	best := 0
	for i, c := range given {
		if counts[key(c.text)] > counts[key(given[best].text)] {
			best = i
		}
	}
	return best
}

// rivalsOf are the distinct answers other than main, the likeliest first.
func rivalsOf(given []completion, main string) []string {
	ranked := slices.Clone(given)
	slices.SortStableFunc(ranked, func(a, b completion) int { return cmp.Compare(b.meanLogprob, a.meanLogprob) })
	seen := map[string]bool{key(main): true}
	var rivals []string
	for _, c := range ranked {
		if k := key(c.text); !seen[k] {
			seen[k] = true
			rivals = append(rivals, c.text)
		}
	}
	return rivals[:min(samples-1, len(rivals))]
}
