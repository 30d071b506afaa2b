package models_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumbline/models"
	"plumbline/models/bundled"
)

// object is a manifest as a test edits it.
type object = map[string]any

func valid() object {
	file := func(name, text string) object {
		sum := sha256.Sum256([]byte(text))
		return object{"name": name, "sha256": hex.EncodeToString(sum[:]), "bytes": len(text)}
	}
	return object{
		"schema_version":     1,
		"name":               "tiny",
		"version":            "1",
		"architecture":       "bert",
		"task":               "sequence-classification",
		"weights_format":     "onnx-fp32",
		"files":              object{"weights": file("w.onnx", "weights"), "tokenizer": file("tokenizer.json", "tokens")},
		"inputs":             []string{"input_ids", "attention_mask"},
		"output":             "logits",
		"classes":            []string{"not_entailment", "entailment"},
		"max_tokens":         512,
		"trained_max_tokens": 256,
		"pair_template":      "<s> premise </s></s> hypothesis </s>",
		"lower_case":         false,
		"qa_template":        "{question} {answer}",
		"languages":          []string{"en"},
		"epsilon":            0.0001,
		"license":            "MIT",
		"base_model":         object{"name": "base", "license": "MIT"},
		"training_data":      []object{{"name": "set", "license": "MIT"}},
	}
}

func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// folder writes a model's folder and returns it.
func folder(t *testing.T, manifest object) string {
	t.Helper()
	dir := t.TempDir()
	data, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, models.ManifestName, data)
	write(t, dir, "w.onnx", []byte("weights"))
	write(t, dir, "tokenizer.json", []byte("tokens"))
	return dir
}

func TestLoadReadsACheckedModel(t *testing.T) {
	model, err := models.Load(folder(t, valid()))
	if err != nil {
		t.Fatal(err)
	}
	if string(model.Weights) != "weights" || string(model.Tokenizer) != "tokens" {
		t.Errorf("weights %q, tokenizer %q", model.Weights, model.Tokenizer)
	}
	if m := model.Manifest; m.Name != "tiny" || m.ThreeClass() || m.MaxTokens != 512 || m.Epsilon != 0.0001 {
		t.Errorf("manifest = %+v", m)
	}
}

func TestLoadNamesTheOffendingField(t *testing.T) {
	for field, value := range map[string]any{
		"schema_version":     2,
		"name":               "",
		"version":            "",
		"task":               "token-classification",
		"output":             "",
		"max_tokens":         0,
		"trained_max_tokens": 513,
		"epsilon":            -1,
		"classes":            []string{"entailment", "neutral"},
		"inputs":             []string{"attention_mask"},
		"pair_template":      "premise only",
		"qa_template":        "{question}",
		"unknown_field":      1,
	} {
		t.Run(field, func(t *testing.T) {
			manifest := valid()
			manifest[field] = value
			_, err := models.Load(folder(t, manifest))
			if err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("error = %v, want one that names %s", err, field)
			}
		})
	}
	for name, file := range map[string]object{
		"files.weights.name":   {"name": "../w.onnx", "sha256": strings.Repeat("0", 64), "bytes": 7},
		"files.weights.sha256": {"name": "w.onnx", "sha256": "abc", "bytes": 7},
		"files.weights.bytes":  {"name": "w.onnx", "sha256": strings.Repeat("0", 64), "bytes": 0},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := valid()
			files := maps.Clone(manifest["files"].(object))
			files["weights"] = file
			manifest["files"] = files
			_, err := models.Load(folder(t, manifest))
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("error = %v, want one that names %s", err, name)
			}
		})
	}
}

func TestLoadRefusesDamagedFolders(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		want   string
	}{
		"no manifest":        {func(t *testing.T, dir string) { remove(t, dir, models.ManifestName) }, "needs its manifest"},
		"manifest cut short": {func(t *testing.T, dir string) { write(t, dir, models.ManifestName, []byte(`{"name":`)) }, "not a manifest"},
		"no weights":         {func(t *testing.T, dir string) { remove(t, dir, "w.onnx") }, "w.onnx"},
		"truncated weights":  {func(t *testing.T, dir string) { write(t, dir, "w.onnx", []byte("weight")) }, "w.onnx has 6 bytes, the manifest says 7"},
		"damaged weights":    {func(t *testing.T, dir string) { write(t, dir, "w.onnx", []byte("Weights")) }, "w.onnx has sha256"},
		"no tokenizer":       {func(t *testing.T, dir string) { remove(t, dir, "tokenizer.json") }, "tokenizer.json"},
		"damaged tokenizer":  {func(t *testing.T, dir string) { write(t, dir, "tokenizer.json", []byte("Tokens")) }, "fetch the model again"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, valid())
			c.damage(t, dir)
			_, err := models.Load(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("error = %v, want one that names the folder and %q", err, c.want)
			}
		})
	}
}

// firstToken is a manifest of an encoder-decoder that reads one text.
func firstToken() object {
	manifest := valid()
	manifest["task"] = "first-decoder-token"
	manifest["inputs"] = []string{"input_ids", "attention_mask", "decoder_input_ids"}
	manifest["one_text"] = object{"prefix": "predict: ", "separator": "</s>"}
	manifest["decoder"] = decoder(0, 32128, 3, 209)
	return manifest
}

func decoder(start, vocabulary int, classIDs ...int) object {
	return object{"start_id": start, "vocabulary": vocabulary, "class_ids": classIDs}
}

func TestLoadReadsAnEncoderDecoder(t *testing.T) {
	model, err := models.Load(folder(t, firstToken()))
	if err != nil {
		t.Fatal(err)
	}
	m := model.Manifest
	if m.OneText.Prefix != "predict: " || m.OneText.Separator != "</s>" || m.Decoder.ClassIDs[1] != 209 || m.Decoder.Vocabulary != 32128 {
		t.Errorf("one_text %+v, decoder %+v", m.OneText, m.Decoder)
	}
}

func TestTheFieldsOfAModeBelongTogether(t *testing.T) {
	for name, c := range map[string]struct {
		field string
		value any
		want  string
	}{
		"classifier with a decoder":     {"task", "sequence-classification", "decoder:"},
		"no decoder":                    {"decoder", nil, "decoder:"},
		"a class without a token":       {"decoder", decoder(0, 32128, 3), "class_id"},
		"two classes with one token":    {"decoder", decoder(0, 32128, 3, 3), "class_id"},
		"a token beyond the vocabulary": {"decoder", decoder(0, 209, 3, 209), "vocabulary"},
		"a negative token":              {"decoder", decoder(0, 32128, -1, 209), "vocabulary"},
		"a negative start":              {"decoder", decoder(-1, 32128, 3, 209), "start_id"},
		"an absurd vocabulary":          {"decoder", decoder(0, 1<<40, 3, 209), "vocabulary"},
		"no input for the decoder":      {"inputs", []string{"input_ids"}, `inputs: "decoder_input_ids"`},
		"no separator":                  {"one_text", object{"prefix": "predict: "}, "one_text.separator"},
		"an unknown part of the layout": {"one_text", object{"separator": "</s>", "suffix": "."}, "suffix"},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := firstToken()
			manifest[c.field] = c.value
			if _, err := models.Load(folder(t, manifest)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want one that names %s", err, c.want)
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func TestLoadOfNoFolderSaysWhatToName(t *testing.T) {
	dir := folder(t, valid())
	for _, path := range []string{filepath.Join(dir, "absent"), filepath.Join(dir, "w.onnx")} {
		if _, err := models.Load(path); err == nil || !strings.Contains(err.Error(), models.ManifestName) {
			t.Errorf("%s: error = %v", path, err)
		}
	}
}

func TestTextAfterTheManifestIsRefused(t *testing.T) {
	dir := folder(t, valid())
	data, err := os.ReadFile(filepath.Join(dir, models.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, models.ManifestName, append(bytes.TrimSpace(data), "{}"...))
	if _, err := models.Load(dir); err == nil || !strings.Contains(err.Error(), "after the end") {
		t.Errorf("error = %v", err)
	}
}

func TestDigestFollowsWhatDecidesAnAnswer(t *testing.T) {
	digest := func(field string, value any) string {
		t.Helper()
		manifest := valid()
		if field != "" {
			manifest[field] = value
		}
		model, err := models.Load(folder(t, manifest))
		if err != nil {
			t.Fatal(err)
		}
		return model.Digest
	}
	base := digest("", nil)
	if !strings.HasPrefix(base, "sha256:") || len(base) != len("sha256:")+64 {
		t.Errorf("digest = %q", base)
	}
	for field, value := range map[string]any{
		"classes":            []string{"entailment", "not_entailment"},
		"max_tokens":         511,
		"inputs":             []string{"input_ids"},
		"qa_template":        "",
		"fine_tokens":        56,
		"trained_max_tokens": 160,
	} {
		if digest(field, value) == base {
			t.Errorf("another %s leaves the digest as it was", field)
		}
	}
	if digest("one_text", object{"separator": "</s>"}) == base {
		t.Error("another layout of pairs leaves the digest as it was")
	}
	for field, value := range map[string]any{"name": "other", "version": "2", "license": "ISC"} {
		if digest(field, value) != base {
			t.Errorf("another %s changes the digest", field)
		}
	}
}

func TestBundledModelIsWhole(t *testing.T) {
	model, err := bundled.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !model.Manifest.ThreeClass() || model.Manifest.MaxTokens != 512 || len(model.Manifest.TrainingData) == 0 {
		t.Errorf("manifest = %+v", model.Manifest)
	}
	fromDisk, err := models.Load("bundled")
	if err != nil || fromDisk.Digest != model.Digest {
		t.Errorf("the same model from disk: %v", err)
	}
}

// FuzzManifest asks that any bytes are read or refused with an error, and that
// what is read can be written and read again.
func FuzzManifest(f *testing.F) {
	seed, err := json.Marshal(valid())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"schema_version":1,"files":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		manifest, err := models.ParseManifest(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := models.ParseManifest(again); err != nil {
			t.Errorf("the manifest does not survive writing and reading: %v", err)
		}
	})
}
