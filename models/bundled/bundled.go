// Package bundled carries the verifier model that comes with the program. It
// is compiled in, so that no path has to be configured and no network is
// needed. README.md beside this file is its model card.
package bundled

import (
	"embed"

	"plumbline/models"
)

//go:embed manifest.json model.int8.onnx tokenizer.json
var files embed.FS

// Load returns the bundled model.
func Load() (*models.Model, error) { return models.LoadFS(files) }
