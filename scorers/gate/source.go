package gate

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"buf.build/go/protoyaml"
	"go.yaml.in/yaml/v3"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// MaxPolicyBytes bounds a policy file; a policy is a page, not a data set.
const MaxPolicyBytes = 256 << 10

// Source is a policy together with where it was read from, so that errors can
// point to the line.
type Source struct {
	// Policy is the policy as it was written; it has not been checked.
	Policy *plumblinev1.Policy
	// File is the name of its file; empty if it did not come from one.
	File string
	root *yaml.Node
}

// Parse reads a policy in YAML or in protobuf-JSON. Field names are those of
// the schema, in snake case or in JSON's camel case; an unknown or repeated
// field and a value of the wrong type are errors that name the position. The
// error joins one *Error for each fault.
func Parse(file string, data []byte) (Source, error) {
	if len(data) > MaxPolicyBytes {
		return Source{}, &Error{Position: file, Message: fmt.Sprintf("the policy has %d bytes or more; at most %d are allowed", len(data), MaxPolicyBytes)}
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if !utf8.Valid(data) || bytes.ContainsAny(data, unusualBreaks) {
		return Source{}, &Error{Position: file, Message: "the file must be UTF-8 with LF or CR LF at the ends of lines"}
	}
	root, fault := parseNode(file, data)
	if fault != nil {
		return Source{}, fault
	}
	policy := &plumblinev1.Policy{}
	if err := (protoyaml.UnmarshalOptions{Path: file}).Unmarshal(data, policy); err != nil {
		return Source{}, schemaErrors(file, err)
	}
	return Source{Policy: policy, File: file, root: root}, nil
}

// unusualBreaks end a line for YAML but not for the count of lines in messages.
const unusualBreaks = "\r\u0085\u2028\u2029"

// parseNode reads exactly one document, which must be an object. It refuses
// what YAML allows but a policy has no use for: repeated keys, of which one
// would be lost, and aliases, which could make a small file large.
func parseNode(file string, data []byte) (*yaml.Node, *Error) {
	var document, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, &Error{Position: file, Message: "the file is empty"}
	case err != nil:
		return nil, syntaxError(file, err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, &Error{Position: file, Message: "the file has more than one document; write one policy to a file"}
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, &Error{Position: file, Message: "the file must hold one object with the fields of a policy"}
	}
	root := document.Content[0]
	return root, refuse(file, root)
}

// syntaxLine finds the line that the YAML parser names in its message.
var syntaxLine = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)

func syntaxError(file string, err error) *Error {
	line, message := "1", strings.TrimPrefix(err.Error(), "yaml: ")
	if m := syntaxLine.FindStringSubmatch(err.Error()); m != nil {
		line, message = m[1], m[2]
	}
	return &Error{Position: file + ":" + line, Message: "not YAML or JSON: " + message}
}

func at(file string, n *yaml.Node) string {
	return fmt.Sprintf("%s:%d:%d", file, n.Line, n.Column)
}

// refuse finds aliases and repeated keys.
func refuse(file string, n *yaml.Node) *Error {
	if n.Kind == yaml.AliasNode {
		return &Error{Position: at(file, n), Message: "a YAML alias is not allowed in a policy: write the value out"}
	}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[c.Value] {
				return &Error{Position: at(file, c), Field: c.Value, Message: "the field is given twice"}
			}
			seen[c.Value] = true
		}
		if fault := refuse(file, c); fault != nil {
			return fault
		}
	}
	return nil
}

// schemaErrors turns the errors of the YAML decoder, which begin with
// "file:line:column ", into ours; the lines of source that follow are left out.
func schemaErrors(file string, err error) error {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	var out []*Error
	for _, e := range all {
		line, _, _ := strings.Cut(e.Error(), "\n")
		position, message := file, line
		if rest, ok := strings.CutPrefix(line, file+":"); ok {
			if at, text, ok := strings.Cut(rest, " "); ok {
				position, message = file+":"+at, text
			}
		}
		out = append(out, &Error{Position: position, Message: message})
	}
	return join(out)
}

// LoadDir reads every policy file (.yaml, .yml, .json) of a folder and of the
// folders in it, in the order of their names; what begins with a dot is passed
// over. One bad file fails the whole; the error tells of every bad file.
func LoadDir(fsys fs.FS) ([]Source, error) {
	var sources []Source
	var errs []error
	err := eachFile(fsys, func(name string) error {
		source, err := readFile(fsys, name)
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		sources = append(sources, source)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return sources, nil
}

// Stamp is a digest of what LoadDir reads: the names of the files and what is in them.
// Times and sizes would not tell two releases with the same times apart.
func Stamp(fsys fs.FS) (string, error) {
	digest := sha256.New()
	err := eachFile(fsys, func(name string) error {
		data, err := readAll(fsys, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(digest, "%q %d\n", name, len(data))
		digest.Write(data)
		return nil
	})
	return string(digest.Sum(nil)), err
}

// eachFile calls visit with the name of each policy file.
func eachFile(fsys fs.FS, visit func(name string) error) error {
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// Hidden folders are how mounted configuration keeps its old versions.
		if name != "." && strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
			return nil
		}
		return visit(name)
	})
	if err != nil {
		return fmt.Errorf("read the folder of policies: %w", err)
	}
	return nil
}

func readFile(fsys fs.FS, name string) (Source, error) {
	data, err := readAll(fsys, name)
	if err != nil {
		return Source{}, err
	}
	return Parse(name, data)
}

// readAll reads a file up to a byte more than a policy may have.
func readAll(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open a policy: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, MaxPolicyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the policy %s: %w", name, err)
	}
	return data, nil
}

// pathStep matches one step of a field path: a name, an index or a map key.
var pathStep = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_-]*|\[\d+\]|\["[^"]*"\]`)

// position is "file:line:column" of a field, or of the closest node around it.
func (s Source) position(field string) string {
	if s.root == nil {
		return s.File
	}
	node := s.root
	for _, step := range pathStep.FindAllString(field, -1) {
		next := child(node, strings.Trim(step, `[]"`))
		if next == nil {
			break
		}
		node = next
	}
	return at(s.File, node)
}

// child finds an element of a list by its index, or the value of a key in
// snake case or camel case.
func child(node *yaml.Node, key string) *yaml.Node {
	switch node.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i < len(node.Content) {
			return node.Content[i]
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if name := node.Content[i].Value; name == key || strings.EqualFold(name, strings.ReplaceAll(key, "_", "")) {
				return node.Content[i+1]
			}
		}
	}
	return nil
}
