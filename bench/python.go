package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"plumbline/models"
	"plumbline/scorers/entail"
)

// python is a peer: a process that answers lines with lines.
type python struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	folder  string
}

// runPython starts a program of the peer's folder on the model.
func (s *session) runPython(ctx context.Context, model *models.Model, program string, args ...string) (_ *python, err error) {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	p := &python{folder: folder}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	weights, tokens := filepath.Join(folder, "model.onnx"), filepath.Join(folder, "tokenizer.json")
	if err := errors.Join(os.WriteFile(weights, model.Weights, 0o600), os.WriteFile(tokens, model.Tokenizer, 0o600)); err != nil {
		return nil, err
	}
	args = append([]string{filepath.Join(s.peer, program), "--weights", weights, "--tokenizer", tokens}, args...)
	p.command = exec.CommandContext(ctx, s.python, args...)
	p.command.Env = append(os.Environ(), "PYTHONPATH="+s.stubs, "TOKENIZERS_PARALLELISM=false")
	p.command.Stderr = os.Stderr
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	return p, p.command.Start()
}

// ask writes a line, if there is one to write, and reads one.
func (p *python) ask(line string) (string, error) {
	if line != "" {
		if _, err := io.WriteString(p.in, line+"\n"); err != nil {
			return "", err
		}
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the Python peer ended: %w", err)
	}
	return strings.TrimSpace(answer), nil
}

func (p *python) pid() int { return p.command.Process.Pid }

func (p *python) stop() error {
	if p.command != nil && p.command.Process != nil {
		// It is stopped by force, so that its way of ending says nothing.
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
	}
	return os.RemoveAll(p.folder)
}

// startPeer starts the Python server with as many threads as ours has.
func (s *session) startPeer(ctx context.Context, model *models.Model) (*python, string, error) {
	workers := strconv.Itoa(runtime.GOMAXPROCS(0))
	p, err := s.runPython(ctx, model, "server.py", "--workers", workers, "--token-budget", strconv.Itoa(s.budget))
	if err != nil {
		return nil, "", err
	}
	port, err := p.ask("")
	if err != nil {
		return nil, "", errors.Join(err, p.stop())
	}
	return p, "127.0.0.1:" + port, nil
}

// startLoop starts the document loop over the given documents.
func (s *session) startLoop(ctx context.Context, model *models.Model, documents [][]entail.Pair) (*python, error) {
	p, err := s.runPython(ctx, model, "loop.py", "--threads", strconv.Itoa(runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, err
	}
	var texts [][][2]string
	for _, document := range documents {
		var pairs [][2]string
		for _, pair := range document {
			pairs = append(pairs, [2]string{pair.Premise, pair.Hypothesis})
		}
		texts = append(texts, pairs)
	}
	line, err := json.Marshal(texts)
	if err == nil {
		_, err = p.in.Write(append(line, '\n'))
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}
