package tei

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"plumbline/scorers/entail"
	"plumbline/verifiers/internal/rpc"
	teiv1 "plumbline/verifiers/protocols/tei/v1"
)

// overGRPC is TEI's gRPC API. Each pair is a call of its own: they share one
// connection, the server batches them, and a pair that it refuses fails alone.
type overGRPC struct {
	conn      *grpc.ClientConn
	describer teiv1.InfoClient
	predictor teiv1.PredictClient
}

func newGRPC(config Config, key string) (overGRPC, error) {
	conn, err := rpc.Dial(config.URL, key, config.Timeout)
	if err != nil {
		return overGRPC{}, err
	}
	return overGRPC{conn, teiv1.NewInfoClient(conn), teiv1.NewPredictClient(conn)}, nil
}

func (g overGRPC) close() error { return g.conn.Close() }

func (g overGRPC) info(ctx context.Context) (info, error) {
	m, err := g.describer.Info(ctx, &teiv1.InfoRequest{})
	if err != nil {
		return info{}, rpc.Explain(err)
	}
	if m.GetModelId() == "" {
		return info{}, fmt.Errorf("%w: it names no model", entail.ErrBadReply)
	}
	return info{
		model:      m.GetModelId(),
		revision:   m.GetModelSha(),
		dtype:      m.GetModelDtype(),
		classifier: m.GetModelType() == teiv1.ModelType_MODEL_TYPE_CLASSIFIER,
		maxTokens:  int(m.GetMaxInputLength()),
		maxBatch:   1,
	}, nil
}

func (g overGRPC) predict(ctx context.Context, pairs []entail.Pair) ([][]prediction, entail.Usage, error) {
	var all [][]prediction
	var usage entail.Usage
	for _, pair := range pairs {
		m, err := g.predictor.PredictPair(ctx, &teiv1.PredictPairRequest{Inputs: []string{pair.Premise, pair.Hypothesis}})
		if err != nil {
			return nil, entail.Usage{}, refusedCall(err)
		}
		var classes []prediction
		for _, p := range m.GetPredictions() {
			classes = append(classes, prediction{p.GetLabel(), float64(p.GetScore())})
		}
		all = append(all, classes)
		told := m.GetMetadata()
		usage.Add(entail.Usage{
			Tokens:       int(told.GetComputeTokens()),
			Tokenization: time.Duration(told.GetTokenizationTimeNs()),
			Queue:        time.Duration(told.GetQueueTimeNs()),
			Inference:    time.Duration(told.GetInferenceTimeNs()),
		})
	}
	return all, usage, nil
}

// refusedCall is refused for gRPC.
func refusedCall(err error) error {
	status, ok := errors.AsType[*rpc.StatusError](err)
	switch {
	case rpc.TooLarge(err), ok && status.Code == codes.InvalidArgument && aboutLength([]byte(status.Message)):
		return errTooLong()
	case ok && status.Code == codes.InvalidArgument:
		return errInvalid()
	case ok && status.Code == codes.FailedPrecondition:
		// So the server calls a failure of its model.
		return fmt.Errorf("%w: %w", entail.ErrUnavailable, status)
	case ok && status.Code == codes.Unimplemented:
		return fmt.Errorf("%w: its version of TEI does not classify pairs over gRPC; use one that has tei.v1.Predict/PredictPair, or HTTP", err)
	default:
		return err
	}
}
