package corpus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"plumbline/internal/corpus"
	"plumbline/internal/ortlib"
	"plumbline/internal/orttest"
	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server"
	"plumbline/server/config"
	"plumbline/server/service"
)

// root is the checkout.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// stage is one server with every way to ask it.
type stage struct {
	service  *service.Service
	conn     *grpc.ClientConn
	surfaces []surface
}

// setUp starts the real server with the real model, builds the program, and
// lists the surfaces, of which the first is the one the others are compared
// with.
func setUp(t *testing.T) *stage {
	t.Helper()
	cfg := config.Default()
	cfg.GRPC.Addr, cfg.HTTP.Addr = "127.0.0.1:0", "127.0.0.1:0"
	cfg.ONNXRuntime.Lib = orttest.Library(t)
	here := newService(t, cfg)
	running := startServer(t, cfg)
	grpcAddr, httpAddr := running.GRPCAddr().String(), running.HTTPAddr().String()
	conn, url := dial(t, grpcAddr), "http://"+httpAddr
	binary := buildProgram(t)
	environment := cleanEnvironment(ortlib.Env + "=" + cfg.ONNXRuntime.Lib)
	return &stage{
		service: here,
		conn:    conn,
		surfaces: []surface{
			inProcess(here),
			overGRPC("native gRPC", conn),
			overGRPC("gRPC on the HTTP listener", dial(t, httpAddr)),
			overConnect("Connect", url),
			overConnect("gRPC-Web", url, connect.WithGRPCWeb()),
			overJSON(url),
			onCommandLine("command line in process", binary, environment),
			onCommandLine("command line with --addr", binary, environment, "--addr", grpcAddr),
		},
	}
}

func newService(t *testing.T, cfg config.Config) *service.Service {
	t.Helper()
	engine, err := server.OpenEngine(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	here, err := server.NewService(cfg, server.Options{Engine: engine, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return here
}

func startServer(t *testing.T, cfg config.Config) *server.Server {
	t.Helper()
	running, err := server.Complete(t.Context(), cfg, server.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	stop, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- running.Run(stop, context.Background()) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return running
}

func dial(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func buildProgram(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "plumbline")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "plumbline/cmd/plumbline")
	build.Dir = root()
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return binary
}

// TestSurfaces runs every case on every surface.
func TestSurfaces(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and a model; left out with -short")
	}
	stage := setUp(t)
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			cases, err := corpus.Load(filepath.Join(root(), "testdata", "corpus", k.name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for id, problems := range stage.run(t, k, cases) {
				for _, problem := range problems {
					t.Errorf("%s: %s", id, problem)
				}
			}
		})
	}
	t.Run("samples", func(t *testing.T) { runSamples(t, stage) })
	t.Run("shared", func(t *testing.T) { runSharedCases(t, stage) })
}

// runSamples runs the requests that the documentation sends, each one line of
// JSON, so that curl, grpcurl and the command line can all read the file.
func runSamples(t *testing.T, s *stage) {
	for _, k := range kinds() {
		line, err := os.ReadFile(filepath.Join(root(), "testdata", "requests", k.name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(line, []byte("\n")) != 1 {
			t.Errorf("%s.json is not one line", k.name)
		}
		var request map[string]any
		if err := json.Unmarshal(line, &request); err != nil {
			t.Fatal(err)
		}
		sample := corpus.Case{ID: k.name, Request: request, Want: map[string]any{"id": request["id"]}}
		for _, problem := range s.run(t, k, []corpus.Case{sample})[k.name] {
			t.Errorf("%s.json: %s", k.name, problem)
		}
	}
}

// run asks every surface and lists by case what is wrong: with the answer, or
// with a surface that answers otherwise than the first.
func (s *stage) run(t *testing.T, k kind, cases []corpus.Case) map[string][]string {
	t.Helper()
	problems := make(map[string][]string)
	var first []answer
	for i, surface := range s.surfaces {
		answers, offered := surface.ask(t, k, messages(t, k, cases, surface.name))
		if !offered {
			continue
		}
		if i == 0 {
			first = answers
		}
		for j, c := range cases {
			if i == 0 {
				problems[c.ID] = check(t, c, answers[j])
			}
			for _, difference := range compare(t, first[j], answers[j]) {
				problems[c.ID] = append(problems[c.ID], s.surfaces[0].name+" against "+surface.name+": "+difference)
			}
		}
	}
	return problems
}

// messages reads the cases' requests. What a server remembers between turns is
// kept apart by surface: else one would see the turns of another.
func messages(t *testing.T, k kind, cases []corpus.Case, surface string) []proto.Message {
	t.Helper()
	all := make([]proto.Message, len(cases))
	for i, c := range cases {
		all[i] = k.newRequest()
		if err := c.Fill(all[i]); err != nil {
			t.Fatal(err)
		}
		if turn, ok := all[i].(*plumblinev1.ObserveRequest); ok && turn.GetSubgoalKey() != "" {
			turn.SubgoalKey += " on " + surface
		}
	}
	return all
}

// check lists what does not hold of an answer.
func check(t *testing.T, c corpus.Case, a answer) []string {
	t.Helper()
	switch {
	case c.Error != nil && a.failure == nil:
		return []string{"answered, must fail with " + c.Error.Code}
	case c.Error != nil:
		return checkFailure(c.Error, a.failure)
	case a.failure != nil:
		return []string{"failed: " + a.failure.String()}
	}
	return corpus.Check(tree(t, a.response), c.Want)
}

func checkFailure(want *corpus.Failure, have *plumblinev1.ItemError) []string {
	var problems []string
	if have.GetCode() != want.Code || have.GetField() != want.Field {
		problems = append(problems, "failed with "+have.String()+", must be "+want.Code+" at "+want.Field)
	}
	if want.Reason != "" && have.GetReason() != want.Reason {
		problems = append(problems, "reason "+have.GetReason()+", must be "+want.Reason)
	}
	return problems
}

// compare lists how an answer differs from that of another surface.
func compare(t *testing.T, a, b answer) []string {
	t.Helper()
	switch {
	case a.failure != nil || b.failure != nil:
		if !proto.Equal(a.failure, b.failure) {
			return []string{a.failure.String() + " against " + b.failure.String()}
		}
		return nil
	default:
		return corpus.Differences(tree(t, a.response), tree(t, b.response))
	}
}

// here asks the first surface alone, in process.
func (s *stage) here(t *testing.T, kindName string, request map[string]any) any {
	t.Helper()
	k := kindOf(kindName)
	message := k.newRequest()
	if err := (corpus.Case{ID: kindName, Request: request}).Fill(message); err != nil {
		t.Fatal(err)
	}
	response, err := k.here(s.service)(t.Context(), message)
	if err != nil {
		t.Fatal(err)
	}
	return tree(t, response)
}
