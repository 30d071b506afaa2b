package main

import (
	"github.com/spf13/cobra"

	"plumbline/cmd/plumbline/internal/records"
	"plumbline/cmd/plumbline/internal/remote"
	plumblinev1 "plumbline/proto/plumbline/v1"
)

// scoreFlags are the flags of the score commands.
type scoreFlags struct {
	records  recordFlags
	remote   remote.Options
	verifier string
}

func newScore(a *app) *cobra.Command {
	var flags scoreFlags
	command := &cobra.Command{
		Use:   "score",
		Short: "Score records from a file or pipe",
		Long: `Score reads requests, one a line, and writes responses, one a line, in the same
order. It scores in this process, or with --addr on a running server.
` + recordsHelp,
	}
	flags.records.add(command.PersistentFlags())
	flags.remote.Flags(command.PersistentFlags(), connectTimeout)
	command.PersistentFlags().StringVar(&flags.verifier, "verifier", "",
		"`NAME` of the verifier for records that name none (retrieval asks none)")
	addSettings(command.PersistentFlags(), "model.", "onnxruntime.", "verifier.", "verifiers", "limits.max_message_bytes")
	return group(command,
		newScoreRetrieval(a, &flags),
		newScoreGrounding(a, &flags),
		newScoreConfidence(a, &flags),
	)
}

func newScoreRetrieval(a *app, flags *scoreFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "retrieval",
		Short: "Signals of retrieval results that predict weak evidence",
		Long:  "Score ScoreRetrievalRequest records into ScoreRetrievalResponse records. No model is loaded.\n" + recordsHelp,
		Example: `  plumbline score retrieval --in rankings.jsonl --out signals.jsonl
  plumbline score retrieval --in rankings.jsonl.gz --addr localhost:50051 > signals.jsonl
  echo '{"rankings":[{"name":"dense","items":[{"id":"a","score":0.8},{"id":"b","score":0.5}]}]}' | plumbline score retrieval`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.score(command, flags, false, func(s scorer) records.Handler {
				return handler(a, s.ScoreRetrieval, func(*plumblinev1.ScoreRetrievalRequest) {})
			})
		},
	}
}

func newScoreGrounding(a *app, flags *scoreFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "grounding",
		Short: "How well evidence supports each claim of an answer",
		Long:  "Score ScoreGroundingRequest records into ScoreGroundingResponse records.\n" + recordsHelp,
		Example: `  plumbline score grounding --in answers.jsonl --out grounded.jsonl
  plumbline score grounding --in answers.jsonl --addr localhost:50051 --parallel 8 > grounded.jsonl
  echo '{"evidence":[{"text":"The bridge opened in 1932."}],"answer":"The bridge opened in 1932."}' | plumbline score grounding`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.score(command, flags, true, func(s scorer) records.Handler {
				return handler(a, s.ScoreGrounding, func(request *plumblinev1.ScoreGroundingRequest) {
					if request.GetVerifier() == "" {
						request.Verifier = flags.verifier
					}
				})
			})
		},
	}
}

func newScoreConfidence(a *app, flags *scoreFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "confidence",
		Short: "How sure the generator is of an answer",
		Long:  "Score ScoreConfidenceRequest records into ScoreConfidenceResponse records.\n" + recordsHelp,
		Example: `  plumbline score confidence --in samples.jsonl --out confidence.jsonl
  echo '{"main_answer":"Paris","samples":[{"text":"Paris"},{"text":"Lyon"}]}' | plumbline score confidence`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return a.score(command, flags, true, func(s scorer) records.Handler {
				return handler(a, s.ScoreConfidence, func(request *plumblinev1.ScoreConfidenceRequest) {
					if request.GetVerifier() == "" {
						request.Verifier = flags.verifier
					}
				})
			})
		},
	}
}

// score runs one score command.
func (a *app) score(command *cobra.Command, flags *scoreFlags, needsModel bool, handle func(scorer) records.Handler) error {
	flags.remote.Parallel = flags.records.parallel
	backend, err := a.open(command, flags.remote, needsModel)
	if err != nil {
		return err
	}
	defer backend.Close()
	return a.runRecords(command.Context(), flags.records, backend.maxMessageBytes, handle(backend))
}
