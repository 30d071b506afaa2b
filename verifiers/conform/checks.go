package conform

// checks is the one table of rules, in the order in which they are checked: the
// description first, what may hurt the verifier last.
func checks() []check {
	return []check{
		{
			name:   "describe",
			rule:   "Describe says what the verifier is: name, digest, classes, and numbers that make sense",
			advice: "Fill DescribeResponse as verifier.proto documents it.",
			run:    describes,
		},
		{
			name: "protocol-version", wire: true,
			rule:   "Describe names a version of the contract that Plumbline speaks",
			advice: "Set protocol_version to 1.",
			run:    speaksVersion,
		},
		{
			name:   "health",
			rule:   "Health says SERVING",
			advice: `Serve grpc.health.v1.Health and set "" and "plumbline.v1.VerifierService" to SERVING once the model can score.`,
			run:    isHealthy,
		},
		{
			name: "reflection", wire: true,
			rule:   "Reflection, if it is served, lists VerifierService",
			advice: "Register reflection after VerifierService, on the same server.",
			run:    reflects,
		},
		{
			name:   "scores",
			rule:   "Scores are probabilities of the classes that were described; without scores there is a status",
			advice: "Send the softmax of the logits: each in [0, 1], three classes with a sum of 1; with STATUS_OK always, with another status never.",
			run:    givesProbabilities,
		},
		{
			name:   "direction",
			rule:   "Evidence that says the claim supports it more than evidence about something else",
			advice: "Look at the order of the model's outputs (id2label), and at which text is given as the premise.",
			run:    pointsTheRightWay,
		},
		{
			name: "ids", wire: true,
			rule:   "Every pair gets one result with the pair's id, whatever the id",
			advice: "Copy ids as they are, and send one result for each pair before the stream ends.",
			run:    echoesIDs,
		},
		{
			name: "id-rules", wire: true,
			rule:   "Ids that are empty, longer than 1024 characters, or twice in a message are INVALID_ARGUMENT",
			advice: "Validate requests by the rules in verifier.proto (protovalidate does), and remember the ids that wait for a result.",
			run:    refusesBadIDs,
		},
		{
			name: "digest", wire: true,
			rule:   "Responses with scores name the digest that Describe tells",
			advice: "Set digest in every VerifyResponse to that of the weights that scored it.",
			run:    namesItsWeights,
		},
		{
			name: "streaming", wire: true,
			rule:   "Results come while the client's side of the stream is still open",
			advice: "Score each message as it arrives; do not wait for the end of the stream.",
			run:    answersEarly,
		},
		{
			name: "empty-calls", wire: true,
			rule:   "A call without pairs, and a message without pairs, are fine",
			advice: "Accept zero pairs; end the stream with OK when the client does.",
			run:    acceptsNothing,
		},
		{
			name: "order", compares: true,
			rule:   "The order of pairs in a call does not matter",
			advice: "Key results by id, not by place, and undo any sorting by length.",
			run:    ignoresOrder,
		},
		{
			name: "determinism", compares: true,
			rule:   "Equal pairs get equal scores, if the verifier says that it is deterministic",
			advice: "Switch off dropout and sampling (eval mode, temperature 0, a seed), or describe the verifier as not deterministic.",
			run:    repeatsItself,
		},
		{
			name: "batch-invariance", compares: true,
			rule:   "A pair's scores move by no more than epsilon with the pairs beside it",
			advice: "Mask padding, run pairs of like length together, or declare a larger epsilon.",
			run:    ignoresNeighbours,
		},
		{
			name:   "empty-texts",
			rule:   "An empty premise is answered; an empty hypothesis is INVALID_ARGUMENT or a typed status",
			advice: "Refuse an empty hypothesis by name; it has no meaning and so no score.",
			run:    treatsEmptyTexts,
		},
		{
			name:   "odd-texts",
			rule:   "Any text in UTF-8 is answered, control characters and special tokens included",
			advice: "Give the tokenizer the text as it is, and take special tokens in it for plain text.",
			run:    treatsOddTexts,
		},
		{
			name:   "huge-texts",
			rule:   "A text of a mebibyte is answered, with scores or as STATUS_TOO_LONG, and harms no other pair",
			advice: "Accept messages of 4 MiB. Give pairs beyond the model's window STATUS_TOO_LONG; do not truncate them in silence.",
			run:    treatsHugeTexts,
		},
		{
			name: "too-many-pairs", wire: true,
			rule:   "More than 10,000 pairs in a message are INVALID_ARGUMENT or RESOURCE_EXHAUSTED",
			advice: "Validate requests by the rules in verifier.proto.",
			run:    limitsPairs,
		},
		{
			name: "too-large-message", wire: true,
			rule:   "A message beyond the verifier's limit is RESOURCE_EXHAUSTED",
			advice: "Set the gRPC server's largest message (4 MiB or more), and let the library refuse larger ones.",
			run:    limitsMessages,
		},
		{
			name:   "concurrency",
			rule:   "Calls at the same time each get their own results",
			advice: "Share no buffers between calls; guard the model, or run it in one thread behind a queue. Refuse with RESOURCE_EXHAUSTED what is too much.",
			run:    keepsCallsApart,
		},
		{
			name:   "cancellation",
			rule:   "A cancelled call's work stops, and the next call need not wait for it",
			advice: "Look whether the call is still alive before each batch, and drop its pairs from the queue if not.",
			run:    stopsWhenCancelled,
		},
		{
			name:   "deadline",
			rule:   "A call whose deadline has passed ends, its work stops, and the next call need not wait for it",
			advice: "As with cancellation: a passed deadline ends the call's context.",
			run:    stopsAtTheDeadline,
		},
	}
}
