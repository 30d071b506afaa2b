package config

import (
	"encoding/json"
	"fmt"
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
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: path[len(path)-1], HeadComment: "# " + s.Doc}
		value := &yaml.Node{}
		if err := value.Encode(s.Value(c)); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Key, err)
		}
		group.Content = append(group.Content, key, value)
	}
	return yaml.Marshal(root)
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
		path := strings.Split(s.Key, ".")
		group := root
		for _, name := range path[:len(path)-1] {
			next, ok := group[name].(map[string]any)
			if !ok {
				next = make(map[string]any)
				group[name] = next
			}
			group = next
		}
		group[path[len(path)-1]] = s.Value(c)
	}
	return json.MarshalIndent(root, "", "  ")
}
