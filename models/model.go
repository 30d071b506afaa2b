// Package models reads the embedded verifier's models. A model is a folder
// with a manifest (see Manifest), the weights and the tokenizer. Loading
// checks every byte against the manifest, so that what runs is what was
// measured and what a policy was calibrated with.
//
// The subpackages run models: tokenizer cuts text as the model was trained to
// read it, ort is the ONNX Runtime library, engine schedules pairs over it,
// and bundled is the model that comes with the program.
package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Model is a checked model in memory. Whoever has built an engine from it may
// drop it: the engine keeps what it needs.
type Model struct {
	// Manifest describes the model.
	Manifest Manifest
	// Digest identifies everything that decides the model's answers: weights,
	// tokenizer, classes, inputs, layout and limits. It is "sha256:" and hexadecimal
	// digits. Licence texts and names do not enter.
	Digest string
	// Weights are the bytes of the ONNX graph.
	Weights []byte
	// Tokenizer are the bytes of tokenizer.json.
	Tokenizer []byte
}

// Load reads and checks the model in a folder.
func Load(dir string) (*Model, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("model folder: %w; name a folder that holds %s", err, ManifestName)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("model folder: %s is a file; name the folder that holds %s", dir, ManifestName)
	}
	model, err := LoadFS(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("model in %s: %w", dir, err)
	}
	return model, nil
}

// LoadFS is Load for a file system whose root is the model's folder.
func LoadFS(fsys fs.FS) (*Model, error) {
	data, err := fs.ReadFile(fsys, ManifestName)
	if err != nil {
		return nil, fmt.Errorf("%w; a model's folder needs its manifest", err)
	}
	manifest, err := ParseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	weights, weightsErr := readChecked(fsys, manifest.Files.Weights)
	tokenizer, tokenizerErr := readChecked(fsys, manifest.Files.Tokenizer)
	if err := errors.Join(weightsErr, tokenizerErr); err != nil {
		return nil, err
	}
	return &Model{Manifest: *manifest, Digest: manifest.Digest(), Weights: weights, Tokenizer: tokenizer}, nil
}

// readChecked reads a file and compares it with the manifest.
func readChecked(fsys fs.FS, want File) ([]byte, error) {
	data, err := fs.ReadFile(fsys, want.Name)
	if err != nil {
		return nil, fmt.Errorf("%w; fetch the model again", err)
	}
	if int64(len(data)) != want.Bytes {
		return nil, fmt.Errorf("%s has %d bytes, the manifest says %d: it is truncated or another version; fetch the model again",
			want.Name, len(data), want.Bytes)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want.SHA256 {
		return nil, fmt.Errorf("%s has sha256 %x, the manifest says %s: it is damaged or another version; fetch the model again",
			want.Name, sum, want.SHA256)
	}
	return data, nil
}

// Digest is the digest of a model with this manifest (see Model): it hashes the
// fields that decide an answer, as JSON with sorted keys.
func (m *Manifest) Digest() string {
	decisive := map[string]any{
		"weights":     m.Files.Weights.SHA256,
		"tokenizer":   m.Files.Tokenizer.SHA256,
		"task":        m.Task,
		"inputs":      m.Inputs,
		"output":      m.Output,
		"classes":     m.Classes,
		"max_tokens":  m.MaxTokens,
		"qa_template": m.QATemplate,
	}
	// What a model does not have leaves no trace.
	if m.OneText != nil {
		decisive["one_text"] = m.OneText
	}
	// How evidence is cut decides no pair's answer, but the support made of them.
	if m.FineTokens != 0 {
		decisive["fine_tokens"] = m.FineTokens
	}
	if m.TrainedMaxTokens != 0 && m.TrainedMaxTokens < m.MaxTokens {
		decisive["trained_max_tokens"] = m.TrainedMaxTokens
	}
	if m.Decoder != nil {
		decisive["decoder"] = m.Decoder
	}
	// A map of these types always marshals, and with its keys in order.
	canonical, _ := json.Marshal(decisive)
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}
