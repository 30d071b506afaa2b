// Package train holds the recipe of the bundled verifier, in Python; this package
// has only its tests.
package train

import (
	"testing"

	"plumbline/internal/pyenv"
)

func TestRecipe(t *testing.T) {
	pyenv.Pytest(t, "requirements.txt", ".")
}
