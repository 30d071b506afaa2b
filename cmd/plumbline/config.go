package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"plumbline/server/config"
)

func newConfig(a *app) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:   "config",
		Short: "Show the settings in force",
		Long: `Config prints the settings that "plumbline serve" would run with, from flags,
environment, file and defaults. Its YAML is a valid file for --config.

Exit codes: 0 done; 2 a setting is wrong.`,
		Example: `  plumbline config > plumbline.yaml
  PLUMBLINE_LOG_LEVEL=debug plumbline config --format json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			cfg, err := settings(command)
			if err != nil {
				return err
			}
			render, known := map[string]func() ([]byte, error){"yaml": cfg.YAML, "json": cfg.JSON}[format]
			if !known {
				return fmt.Errorf("--format is %q: it must be yaml or json", format)
			}
			text, err := render()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "%s\n", text)
			return err
		},
	}
	command.Flags().StringVar(&format, "format", "yaml", "yaml or json")
	config.Flags(command.Flags())
	return command
}
