package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"plumbline/internal/ortlib"
)

// versionInfo is what the program knows of itself.
type versionInfo struct {
	Version     string `json:"version"`
	Commit      string `json:"commit"`
	Go          string `json:"go"`
	Platform    string `json:"platform"`
	ONNXRuntime string `json:"onnxruntime"`
}

func newVersion(a *app) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Long: `Version prints the program's version, commit, Go release and platform, and the
release of the ONNX Runtime library that it was tested with.`,
		Example: `  plumbline version
  plumbline version --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info := versionInfo{
				Version:     a.build.Version,
				Commit:      a.build.Commit,
				Go:          runtime.Version(),
				Platform:    ortlib.Host().String(),
				ONNXRuntime: ortlib.Version,
			}
			if asJSON {
				return json.NewEncoder(a.out).Encode(info)
			}
			_, err := fmt.Fprintf(a.out, "plumbline %s\ncommit %s\n%s %s\nONNX Runtime %s\n",
				info.Version, info.Commit, info.Go, info.Platform, info.ONNXRuntime)
			return err
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}
