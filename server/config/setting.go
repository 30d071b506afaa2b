package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// EnvPrefix begins the environment variable of every setting.
const EnvPrefix = "PLUMBLINE_"

// Setting is one setting under its three names.
type Setting struct {
	// Key is its path in the configuration file, such as "http.addr".
	Key string
	// Doc is one line for people.
	Doc string

	index []int
}

// Env is the setting's environment variable.
func (s Setting) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// Flag is the setting's command-line flag without its dashes.
func (s Setting) Flag() string {
	return strings.NewReplacer(".", "-", "_", "-").Replace(s.Key)
}

// Value returns the setting's value in c as a configuration file has it:
// durations and levels as text, lists as lists of text, verifiers as objects by
// name. Secrets are hidden.
func (s Setting) Value(c Config) any { return fileValue(reflect.ValueOf(c).FieldByIndex(s.index)) }

func fileValue(field reflect.Value) any {
	switch v := field.Interface().(type) {
	case map[string]NamedVerifier:
		return verifiersValue(v)
	case time.Duration:
		return v.String()
	case encoding.TextMarshaler:
		text, err := v.MarshalText()
		if err != nil {
			return fmt.Sprint(v)
		}
		return strings.ToLower(string(text))
	case []string:
		return append([]string{}, v...)
	default:
		return v
	}
}

// Settings lists every setting in the order of Config.
func Settings() []Setting {
	return settingsOf(reflect.TypeFor[Config](), "", nil)
}

func settingsOf(t reflect.Type, prefix string, index []int) []Setting {
	var settings []Setting
	for i := range t.NumField() {
		field := t.Field(i)
		key := prefix + field.Tag.Get("koanf")
		at := append(append([]int{}, index...), i)
		if doc, leaf := field.Tag.Lookup("doc"); leaf {
			settings = append(settings, Setting{Key: key, Doc: doc, index: at})
			continue
		}
		settings = append(settings, settingsOf(field.Type, key+".", at)...)
	}
	return settings
}
