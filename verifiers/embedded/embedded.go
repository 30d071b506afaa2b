// Package embedded opens the verifier that runs in this process: a model and
// the engine over it.
package embedded

import (
	"plumbline/models"
	"plumbline/models/bundled"
	"plumbline/models/engine"
	"plumbline/models/hub"
)

// Config says which model runs and how. The zero value runs the bundled model
// with the engine's defaults.
type Config struct {
	// ModelDir is a model's folder, or the name of one that was pulled (see
	// hub.Find); empty means the bundled model.
	ModelDir string
	// Engine are the engine's settings.
	Engine engine.Config
}

// Open loads the model and starts its engine, which the caller closes.
func Open(config Config) (*engine.Engine, error) {
	model, err := load(config.ModelDir)
	if err != nil {
		return nil, err
	}
	return engine.Open(model, config.Engine)
}

func load(dir string) (*models.Model, error) {
	if dir == "" {
		return bundled.Load()
	}
	return models.Load(hub.Find(dir))
}
