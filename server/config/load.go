package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

const (
	fileFlag = "config"
	fileEnv  = EnvPrefix + "CONFIG"
)

// Flags adds --config and one flag for each setting to a command.
func Flags(fs *pflag.FlagSet) {
	fs.String(fileFlag, "", "YAML file with settings (environment: "+fileEnv+")")
	defaults := Default()
	for _, s := range Settings() {
		usage := s.Doc + " (environment: " + s.Env() + ")"
		// Every value is text until Load decodes it, so that a flag, a
		// variable and a line of the file are read by the same rules.
		switch v := s.Value(defaults).(type) {
		case bool:
			fs.Bool(s.Flag(), v, usage)
		case []string:
			fs.StringSlice(s.Flag(), v, usage)
		case map[string]any:
			fs.StringArray(s.Flag(), nil, usage) // an address may have commas
		default:
			fs.String(s.Flag(), fmt.Sprint(v), usage)
		}
	}
}

// Load reads the settings: flags over environ over the file that --config or
// PLUMBLINE_CONFIG names over the defaults. flags may be nil. Unknown names in
// the file or the environment, and values that cannot be, are all reported in
// one error.
func Load(flags *pflag.FlagSet, environ []string) (Config, error) {
	fromEnv, path, envErr := readEnv(environ)
	fromFlags, flagPath, flagErr := readFlags(flags)
	if flagPath != "" {
		path = flagPath
	}
	fromFile, fileErr := readFile(path)
	cfg := Default()
	if err := errors.Join(fileErr, envErr, flagErr); err != nil {
		return cfg, err
	}
	k := koanf.New(".")
	named := verifierDefaults(fromFile, fromEnv, fromFlags)
	for _, layer := range []map[string]any{named, fromFile, fromEnv, fromFlags} {
		// A map in memory always loads.
		_ = k.Load(confmap.Provider(layer, "."), nil)
	}
	if err := k.UnmarshalWithConf("", &cfg, decoding(&cfg)); err != nil {
		return cfg, fmt.Errorf("settings: %w", err)
	}
	return cfg, cfg.Validate()
}

func decoding(cfg *Config) koanf.UnmarshalConf {
	return koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result:           cfg,
		TagName:          "koanf",
		WeaklyTypedInput: true,
		DecodeHook: mapstructure.ComposeDecodeHookFunc(
			durationNeedsUnit,
			mapstructure.StringToTimeDurationHookFunc(),
			mapstructure.StringToSliceHookFunc(","),
			mapstructure.TextUnmarshallerHookFunc(),
		),
	}}
}

// durationNeedsUnit refuses a bare number, which would be read as nanoseconds.
func durationNeedsUnit(from, to reflect.Type, value any) (any, error) {
	if to == reflect.TypeFor[time.Duration]() && from.Kind() != reflect.String && from != to {
		return nil, fmt.Errorf("%v has no unit: write it as %vs or %vms", value, value, value)
	}
	return value, nil
}

func readFile(path string) (map[string]any, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	tree, err := yaml.Parser().Unmarshal(data)
	if err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", path, err)
	}
	k := koanf.New(".")
	_ = k.Load(confmap.Provider(tree, "."), nil)
	var unknown []error
	for _, key := range k.Keys() {
		if !isVerifierKey(key) && !slices.ContainsFunc(Settings(), func(s Setting) bool { return s.Key == key }) {
			unknown = append(unknown, fmt.Errorf("configuration file %s: there is no setting %q", path, key))
		}
	}
	return k.All(), errors.Join(unknown...)
}

// injected are the variables that Kubernetes sets in every pod for a service
// whose name begins with "plumbline": they are nobody's settings.
var injected = regexp.MustCompile(`^` + EnvPrefix + `([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

func readEnv(environ []string) (values map[string]any, path string, err error) {
	byEnv := make(map[string]Setting)
	for _, s := range Settings() {
		byEnv[s.Env()] = s
	}
	values = make(map[string]any)
	var unknown []error
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		setting, known := byEnv[name]
		switch {
		case known && setting.Key == verifiersKey:
			unknown = append(unknown, putNamed(values, slices.Collect(strings.Lines(value))))
		case known:
			values[setting.Key] = value
		case name == fileEnv:
			path = value
		case strings.HasPrefix(name, EnvPrefix) && !injected.MatchString(name):
			unknown = append(unknown, fmt.Errorf("environment: there is no setting %s", name))
		}
	}
	return values, path, errors.Join(unknown...)
}

// putNamed adds verifiers that are given as NAME=ADDRESS.
func putNamed(values map[string]any, entries []string) error {
	var problems []error
	for _, entry := range entries {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, at, err := named(strings.TrimSpace(entry))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		values[verifiersKey+"."+name+".address"] = at
	}
	return errors.Join(problems...)
}

func readFlags(flags *pflag.FlagSet) (values map[string]any, path string, err error) {
	values = make(map[string]any)
	if flags == nil {
		return values, "", nil
	}
	for _, s := range Settings() {
		flag := flags.Lookup(s.Flag())
		if flag == nil || !flag.Changed {
			continue
		}
		list, isList := flag.Value.(pflag.SliceValue)
		switch {
		case s.Key == verifiersKey:
			err = putNamed(values, list.GetSlice())
		case isList:
			values[s.Key] = list.GetSlice()
		default:
			values[s.Key] = flag.Value.String()
		}
	}
	if flag := flags.Lookup(fileFlag); flag != nil {
		path = flag.Value.String()
	}
	return values, path, err
}
