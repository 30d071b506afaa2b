package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML renders the settings as a configuration file, each with its doc line.
func (c Config) YAML() ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, s := range Settings() {
		path := strings.Split(s.Key, ".")
		group := root
		for _, name := range path[:len(path)-1] {
			group = child(group, name)
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: path[len(path)-1], HeadComment: comment(s)}
		value := &yaml.Node{}
		if err := value.Encode(s.Value(c)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Key, err)
		}
		group.Content = append(group.Content, key, value)
	}
	return yaml.Marshal(root)
}

// comment is what stands above a setting. Settings that each verifier has are
// listed with their defaults, since the file may have no verifier.
func comment(s Setting) string {
	text := "# " + s.Doc
	if s.Key == verifiersKey {
		defaults := reflect.ValueOf(DefaultVerifier("", ""))
		for _, each := range verifierSettings() {
			text += "\n#   " + each.Key
			if value := fmt.Sprint(fileValue(defaults.FieldByIndex(each.index))); value != "" && value != "[]" {
				text += " (" + value + ")"
			}
			text += ": " + each.Doc
		}
	}
	return text
}

// child returns the mapping under name, which is made if there is none.
func child(group *yaml.Node, name string) *yaml.Node {
	for i := 0; i < len(group.Content); i += 2 {
		if group.Content[i].Value == name {
			return group.Content[i+1]
		}
	}
	made := &yaml.Node{Kind: yaml.MappingNode}
	group.Content = append(group.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, made)
	return made
}

// JSON renders the settings as one object.
func (c Config) JSON() ([]byte, error) {
	root := make(map[string]any)
	for _, s := range Settings() {
		put(root, s.Key, s.Value(c))
	}
	return json.MarshalIndent(root, "", "  ")
}

// put sets a value in a tree under a dotted key.
func put(tree map[string]any, key string, value any) {
	path := strings.Split(key, ".")
	for _, name := range path[:len(path)-1] {
		next, ok := tree[name].(map[string]any)
		if !ok {
			next = make(map[string]any)
			tree[name] = next
		}
		tree = next
	}
	tree[path[len(path)-1]] = value
}
