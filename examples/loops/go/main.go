// Command go runs BeyondUncertainty's loop over questions with its native gate,
// with Plumbline's replacement, or with CalVerT's prompt block. It is the
// program beyond_uncertainty.py in Go: it talks to Plumbline by the generated
// Connect client, and to a model by an OpenAI-compatible API.
//
//	go run ./examples/loops/go --gate plumbline --llm http://localhost:8000/v1 --model NAME
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"

	"plumbline/proto/plumbline/v1/plumblinev1connect"
)

type question struct {
	ID       string   `json:"id"`
	Question string   `json:"question"`
	Gold     []string `json:"gold"`
}

// record is what became of one question.
type record struct {
	Loop        string     `json:"loop"`
	Gate        string     `json:"gate"`
	ID          string     `json:"id"`
	Answer      string     `json:"answer"`
	Right       bool       `json:"right"`
	Decisions   []decision `json:"decisions"`
	Calls       int        `json:"calls"`
	Completions int        `json:"completions"`
	Passages    int        `json:"passages"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	gate := flag.String("gate", "plumbline", "native, plumbline or calvert")
	llm := flag.String("llm", "http://localhost:8000/v1", "OpenAI-compatible API; its key is OPENAI_API_KEY")
	name := flag.String("model", "made", "chat model")
	plumbline := flag.String("plumbline", "http://localhost:8080", "Plumbline's HTTP listener")
	questionsFile := flag.String("questions", "examples/loops/questions.jsonl", "JSON lines of id, question, gold")
	corpus := flag.String("corpus", "examples/loops/corpus.jsonl", "JSON lines of id, title, text")
	flag.Parse()

	passages, err := readLines[passage](*corpus)
	if err != nil {
		return err
	}
	questions, err := readLines[question](*questionsFile)
	if err != nil {
		return err
	}
	l := &loop{
		retriever:  newRetriever(passages),
		gate:       plumblinev1connect.NewGateServiceClient(http.DefaultClient, *plumbline),
		confidence: plumblinev1connect.NewConfidenceServiceClient(http.DefaultClient, *plumbline),
		telemetry:  plumblinev1connect.NewTelemetryServiceClient(http.DefaultClient, *plumbline),
	}
	lines := json.NewEncoder(os.Stdout)
	for _, q := range questions {
		l.model = &model{url: *llm, name: *name}
		answer, d, found, err := l.solve(ctx, *gate, q.Question)
		if err != nil {
			return fmt.Errorf("%s: %w", q.ID, err)
		}
		right := slices.ContainsFunc(q.Gold, func(g string) bool { return strings.EqualFold(g, strings.Trim(answer, " .")) })
		if err := lines.Encode(record{"beyond_uncertainty", *gate, q.ID, answer, right, []decision{d}, l.model.calls, l.model.completions, len(found)}); err != nil {
			return err
		}
	}
	return nil
}
