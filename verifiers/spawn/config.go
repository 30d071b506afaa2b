package spawn

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/pflag"
)

const (
	// DefaultStartTimeout is how long a start may take: loading a model is slow.
	DefaultStartTimeout = time.Minute
	// DefaultGrace is how long a sidecar may take to end after SIGTERM.
	DefaultGrace = 3 * time.Second
)

// Config says which process to start and how.
type Config struct {
	// Command is the executable, looked up in PATH if it has no slash, and its
	// arguments. No shell is between.
	Command []string
	// Env are the variables that the sidecar gets besides those of the
	// handshake: NAME passes the host's on if it has one, NAME=VALUE sets one.
	Env []string
	// InheritEnv passes the host's whole environment on.
	InheritEnv bool
	// Dir is the working folder; empty means the host's.
	Dir string
	// SHA256 is the hexadecimal digest that the executable must have; empty
	// means that it is not checked. It guards against a wrong or broken file. It
	// is no guard against somebody who may replace the file between the check and
	// the start.
	SHA256 string
	// StartTimeout bounds a start until health says SERVING; 0 means
	// DefaultStartTimeout.
	StartTimeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL; 0 means DefaultGrace.
	Grace time.Duration
	// MaxMessageBytes bounds a message to the sidecar, as in remote.Config.
	MaxMessageBytes int
	// Log takes what the sidecar prints and what happens to it; nil drops both.
	Log *slog.Logger
}

// Parse reads the form that addresses have after "exec:": options, the command
// and its arguments, split as a shell splits words, with nothing expanded. The
// options are those of docs/verifiers-exec.md.
func Parse(text string) (Config, error) {
	words, err := shellquote.Split(text)
	if err != nil {
		return Config{}, fmt.Errorf("exec: %w", err)
	}
	var config Config
	options := pflag.NewFlagSet("exec", pflag.ContinueOnError)
	options.SetInterspersed(false) // what follows the command is the command's
	options.Usage = func() {}
	options.StringVar(&config.SHA256, "sha256", "", "")
	options.StringArrayVar(&config.Env, "env", nil, "")
	options.BoolVar(&config.InheritEnv, "inherit-env", false, "")
	options.StringVar(&config.Dir, "dir", "", "")
	options.DurationVar(&config.StartTimeout, "start-timeout", DefaultStartTimeout, "")
	if err := options.Parse(words); err != nil {
		return Config{}, fmt.Errorf("exec: %w; options come before the command", err)
	}
	config.Command = options.Args()
	return config, config.validate()
}

func (c Config) validate() error {
	if len(c.Command) == 0 || c.Command[0] == "" {
		return errors.New("exec: there is no command; write exec:COMMAND ARGS…")
	}
	if c.StartTimeout < 0 || c.Grace < 0 {
		return errors.New("exec: a time is negative")
	}
	for _, variable := range c.Env {
		if name, _, _ := strings.Cut(variable, "="); name == "" {
			return fmt.Errorf("exec: %q is no variable; write NAME or NAME=VALUE", variable)
		}
	}
	return nil
}

// withDefaults is the configuration with what was left out.
func (c Config) withDefaults() Config {
	if c.StartTimeout == 0 {
		c.StartTimeout = DefaultStartTimeout
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// environ is the sidecar's environment without the handshake.
func (c Config) environ() []string {
	environ := []string{} // not nil, which would mean the host's
	if c.InheritEnv {
		environ = append(environ, os.Environ()...)
	}
	for _, variable := range c.Env {
		if strings.Contains(variable, "=") {
			environ = append(environ, variable)
		} else if value, ok := os.LookupEnv(variable); ok {
			environ = append(environ, variable+"="+value)
		}
	}
	return environ
}
