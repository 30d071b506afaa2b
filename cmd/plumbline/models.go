package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plumbline/cmd/plumbline/internal/progress"
	"plumbline/models"
	"plumbline/models/hub"
)

// Names that the clients of Hugging Face's hub know too.
const (
	hubEnv   = "HF_ENDPOINT"
	tokenEnv = "HF_TOKEN"
)

func newModels(a *app) *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "models",
		Short: "Pull models from a hub, and keep them",
		Long: `Models downloads verifier models into the user's folder of models and keeps them
there. A name that was pulled stands for its folder in the setting model.dir and
in the address embedded:NAME.`,
	}
	command.PersistentFlags().StringVar(&dir, "dir", "", "`DIR` of the models, in place of the user's ("+hub.DefaultDir()+")")
	store := func() *hub.Store { return hub.NewStore(dir) }
	return group(command, newModelsPull(a, store), newModelsList(a, store), newModelsVerify(a, store), newModelsRemove(a, store))
}

// pullFlags are the flags of "plumbline models pull".
type pullFlags struct {
	name, hub, digest, tokenFile string
	quiet, noProgress            bool
}

func newModelsPull(a *app, store func() *hub.Store) *cobra.Command {
	var f pullFlags
	command := &cobra.Command{
		Use:   "pull SOURCE",
		Short: "Download a model",
		Long: `Pull downloads a model: the manifest, and the files that it names. SOURCE is
OWNER/NAME or OWNER/NAME@REVISION on the hub, or the URL of a folder on any web
server. A pull that was interrupted goes on where it was.

A file counts only if it has the size and the SHA-256 of the manifest; --digest
says which manifest is meant. The model gets its place when all of it is there.

The hub's token is read from ` + tokenEnv + `, and sent to the hub alone.

Exit codes: 0 the model is there; 2 it could not be pulled; 130 interrupted.`,
		Example: `  plumbline models pull some-owner/minicheck-roberta-large
  plumbline models pull https://models.example/verifier-v1 --digest sha256:…
  plumbline serve --model-dir some-owner/minicheck-roberta-large`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error { return a.pull(command, f, store(), args[0]) },
	}
	flags := command.Flags()
	flags.StringVar(&f.name, "name", "", "`NAME` to keep the model under; by default OWNER/NAME, or the last part of the URL")
	flags.StringVar(&f.hub, "hub", cmp.Or(os.Getenv(hubEnv), hub.DefaultBase), "`URL` of the hub ("+hubEnv+")")
	flags.StringVar(&f.digest, "digest", "", "`DIGEST` that the model must have, as list --json shows it")
	flags.StringVar(&f.tokenFile, "token-file", "", "`FILE` with a token for the server of SOURCE")
	flags.BoolVar(&f.quiet, quiet, false, "write nothing but why the model could not be pulled")
	flags.BoolVar(&f.noProgress, "no-progress", false, "draw no progress bar (none is drawn if standard error is no terminal)")
	return command
}

// token returns the token for the source: HF_TOKEN is meant for the hub, and
// goes to no other server.
func (f pullFlags) token(source string) (string, error) {
	if f.tokenFile == "" {
		if strings.Contains(source, "://") {
			return "", nil
		}
		return os.Getenv(tokenEnv), nil
	}
	data, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

func (a *app) pull(command *cobra.Command, f pullFlags, store *hub.Store, from string) error {
	source, err := hub.ParseSource(from, f.hub)
	if err != nil {
		return err
	}
	name := cmp.Or(f.name, source.Name)
	if name == "" {
		return errors.New("the URL does not end in a name: give --name")
	}
	p := hub.Puller{Digest: f.digest}
	if p.Token, err = f.token(from); err != nil {
		return err
	}
	bar, have := progress.NewBytes(a.err, 0, false), int64(0)
	p.Begin = func(total int64) {
		bar = progress.NewBytes(a.err, total, !f.noProgress && progress.IsTerminal(a.err))
	}
	p.Progress = func(bytes int64) {
		have += bytes
		bar.Set(have)
	}
	e, err := store.Pull(command.Context(), p, source, name)
	bar.Close()
	switch {
	case command.Context().Err() != nil:
		fmt.Fprintln(a.err, "plumbline: interrupted; the same command goes on from there")
		return &ended{exitInterrupted}
	case errors.Is(err, hub.ErrUpToDate):
		f.say(a, "%s %s (%s)", name, hub.ErrUpToDate, e.Digest)
	case err != nil:
		return err
	default:
		f.say(a, "%s is in %s (%s, licence %s)", name, e.Path, e.Digest, e.Manifest.License)
	}
	return nil
}

func (f pullFlags) say(a *app, format string, args ...any) {
	if !f.quiet {
		fmt.Fprintf(a.out, format+"\n", args...)
	}
}

// listed is a model in the JSON of list.
type listed struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	License string `json:"license,omitempty"`
	Mode    string `json:"mode,omitempty"`
	Path    string `json:"path"`
	Source  string `json:"source,omitempty"`
	Error   string `json:"error,omitempty"`
}

func listedOf(e hub.Entry) listed {
	l := listed{Name: e.Name, Path: e.Path, Source: e.Source}
	if e.Err != nil {
		l.Error = e.Err.Error()
		return l
	}
	l.Version, l.Digest, l.Bytes, l.License, l.Mode = e.Manifest.Version, e.Digest, e.Bytes(), e.Manifest.License, modelMode(&e.Manifest)
	return l
}

// modelMode says in a few words how a model is asked and answers.
func modelMode(m *models.Manifest) string {
	mode := fmt.Sprintf("%d classes", len(m.Classes))
	if m.Task == models.TaskFirstDecoderToken {
		mode = "first token"
	}
	if m.OneText != nil {
		mode += ", one text"
	}
	return mode
}

func newModelsList(a *app, store func() *hub.Store) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "List the models that were pulled",
		Long: `List shows each model with its digest, size, licence, and how it is asked.

Exit codes: 0 done; 2 the folder of models cannot be read.`,
		Example: `  plumbline models list
  plumbline models list --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			entries, err := store().List()
			if err != nil {
				return err
			}
			if asJSON {
				return a.modelsJSON(entries)
			}
			return a.modelsTable(entries)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write JSON, one model a line")
	return command
}

func (a *app) modelsJSON(entries []hub.Entry) error {
	encoder := json.NewEncoder(a.out)
	for _, e := range entries {
		if err := encoder.Encode(listedOf(e)); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) modelsTable(entries []hub.Entry) error {
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tVERSION\tDIGEST\tSIZE\tLICENCE\tMODE")
	for _, e := range entries {
		l := listedOf(e)
		if l.Error != "" {
			fmt.Fprintf(table, "%s\t%s\n", l.Name, "cannot be read: "+l.Error)
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%.19s\t%.1f MB\t%s\t%s\n", l.Name, l.Version, l.Digest, float64(l.Bytes)/1e6, l.License, l.Mode)
	}
	return table.Flush()
}

func newModelsVerify(a *app, store func() *hub.Store) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [NAME …]",
		Short: "Hash models again, and compare with their manifests",
		Long: `Verify reads every byte of the named models, or of all, and compares sizes and
SHA-256 with the manifest.

Exit codes: 0 all are whole; 1 some are not; 2 one is not there, or the folder of
models cannot be read; 130 interrupted.`,
		Example: `  plumbline models verify
  plumbline models verify some-owner/minicheck-roberta-large`,
		RunE: func(command *cobra.Command, names []string) error {
			names, err := namesOf(store(), names)
			if err != nil {
				return err
			}
			damaged := false
			for _, name := range names {
				err := store().Verify(command.Context(), name)
				if command.Context().Err() != nil {
					return &ended{exitInterrupted}
				}
				if errors.Is(err, hub.ErrAbsent) {
					return err
				}
				if err != nil {
					damaged = true
					fmt.Fprintf(a.err, "plumbline: %s: %v\n", name, err)
					continue
				}
				fmt.Fprintf(a.out, "%s is whole\n", name)
			}
			if damaged {
				return &ended{exitSomeFailed}
			}
			return nil
		},
	}
}

// namesOf returns the names, or those of all models if there are none.
func namesOf(store *hub.Store, names []string) ([]string, error) {
	if len(names) > 0 {
		return names, nil
	}
	entries, err := store.List()
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names, err
}

func newModelsRemove(a *app, store func() *hub.Store) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME …",
		Short: "Delete models",
		Long: `Remove deletes models that were pulled, and what an unfinished pull has left. A
server that has loaded one is not affected until it starts again.

Exit codes: 0 all were deleted; 2 one is not there, or cannot be deleted.`,
		Example: `  plumbline models remove some-owner/minicheck-roberta-large`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, names []string) error {
			for _, name := range names {
				if err := store().Remove(name); err != nil {
					return err
				}
				fmt.Fprintf(a.out, "%s is deleted\n", name)
			}
			return nil
		},
	}
}
