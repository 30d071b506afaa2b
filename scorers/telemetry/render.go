package telemetry

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

//go:embed templates
var templates embed.FS

// Newest is the template that an empty name means. A published template never
// changes: other words get another name, since agents are tuned to them.
const Newest = "v1"

// Limits on a template of the caller's.
const (
	// MaxTemplateBytes bounds its text.
	MaxTemplateBytes = 64 << 10
	// MaxBlockBytes bounds what it prints.
	MaxBlockBytes = 64 << 10
	// maxSteps bounds the nodes that its loops evaluate, so that it ends in a
	// fraction of a second without a clock.
	maxSteps = 100_000
)

// Template names a template of ours or brings one of the caller's.
type Template struct {
	// Name is a name of ours; empty means Newest.
	Name string
	// Text is a Go text template over a View; if it is not empty, Name is not
	// looked at.
	Text string
}

// TemplateError says what is wrong with a template.
type TemplateError struct{ Message string }

// Error implements error.
func (e *TemplateError) Error() string { return e.Message }

// Render prints the prompt block of a telemetry and returns the name of the
// template used ("custom" for one of the caller's). previous is what the turn
// before left, for trends; nil if there was none. The error is a
// *TemplateError.
func Render(t Template, telemetry *plumblinev1.Telemetry, previous *Kept) (block, name string, err error) {
	view := NewView(telemetry, previous)
	if t.Text != "" {
		block, err = renderCustom(t.Text, view)
		return block, customName, err
	}
	name = t.Name
	if name == "" {
		name = Newest
	}
	parsed, ok := published()[name]
	if !ok {
		return "", "", &TemplateError{Message: fmt.Sprintf("there is no template %q; there are %v", name, Names())}
	}
	block, err = execute(parsed, view)
	return block, name, err
}

// customName is the name of a template of the caller's.
const customName = "custom"

// published returns our templates by name, read on first use and never changed.
var published = sync.OnceValue(func() map[string]*template.Template {
	byName := map[string]*template.Template{}
	files := template.Must(template.ParseFS(templates, "templates/*.tmpl"))
	for _, t := range files.Templates() {
		byName[strings.TrimSuffix(t.Name(), ".tmpl")] = t
	}
	return byName
})

// Names lists our templates in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(published())) }

// renderCustom runs a template that nobody vouches for. Three things keep it
// harmless: it may call only functions that return flags and numbers, so that
// it cannot build large texts; its loops count their steps; and its output is
// cut off.
func renderCustom(text string, view View) (string, error) {
	if len(text) > MaxTemplateBytes {
		return "", &TemplateError{Message: fmt.Sprintf("the template has %d bytes; at most %d are allowed", len(text), MaxTemplateBytes)}
	}
	steps := 0
	count := func(nodes int) (string, error) {
		if steps += nodes; steps > maxSteps {
			return "", errors.New("its loops take too many steps")
		}
		return "", nil
	}
	parsed, err := template.New(customName).Funcs(template.FuncMap{stepFunction: count}).Parse(text)
	if err != nil {
		return "", &TemplateError{Message: err.Error()}
	}
	if err := restrict(parsed); err != nil {
		return "", &TemplateError{Message: fmt.Sprintf("template %s: %v", customName, err)}
	}
	return execute(parsed, view)
}

func execute(t *template.Template, view View) (string, error) {
	var out bounded
	if err := t.Execute(&out, view); err != nil {
		return "", &TemplateError{Message: err.Error()}
	}
	return out.text.String(), nil
}

// bounded is a writer that refuses more than a block may have.
type bounded struct{ text strings.Builder }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > MaxBlockBytes {
		return 0, fmt.Errorf("it prints more than %d bytes", MaxBlockBytes)
	}
	return b.text.Write(p)
}

// stepFunction counts steps; templates cannot name it, since restrict refuses
// all but the allowed functions before it is put in.
const stepFunction = "countSteps"

// allowedFunctions return flags, numbers or parts of the view. The others of
// text/template make texts, whose size a template could double line by line.
func allowedFunctions() []string {
	return []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index"}
}

// restrict refuses what a template must not do and makes its loops count.
func restrict(t *template.Template) error {
	if t.Tree == nil {
		return nil
	}
	if len(t.Templates()) > 1 {
		return errors.New("it must not define other templates")
	}
	_, err := restrictList(t.Root)
	return err
}

// restrictList returns the number of nodes of a list, which is what one pass
// through it costs.
func restrictList(list *parse.ListNode) (int, error) {
	if list == nil {
		return 0, nil
	}
	total := 0
	for _, n := range list.Nodes {
		nodes, err := restrictNode(n)
		if err != nil {
			return 0, err
		}
		total += nodes
	}
	return total, nil
}

func restrictNode(n parse.Node) (int, error) {
	switch n := n.(type) {
	case *parse.ActionNode:
		return restrictPipe(n.Pipe)
	case *parse.IfNode:
		return restrictBranch(&n.BranchNode)
	case *parse.WithNode:
		return restrictBranch(&n.BranchNode)
	case *parse.RangeNode:
		nodes, err := restrictBranch(&n.BranchNode)
		if err != nil {
			return 0, err
		}
		return nodes, countSteps(n.List, nodes)
	case *parse.TemplateNode:
		return 0, errors.New("it must not call other templates")
	default:
		return 1, nil
	}
}

func restrictBranch(b *parse.BranchNode) (int, error) {
	total := 1
	condition, err := restrictPipe(b.Pipe)
	if err != nil {
		return 0, err
	}
	total += condition
	for _, list := range []*parse.ListNode{b.List, b.ElseList} {
		nodes, err := restrictList(list)
		if err != nil {
			return 0, err
		}
		total += nodes
	}
	return total, nil
}

func restrictPipe(p *parse.PipeNode) (int, error) {
	if p == nil {
		return 0, nil
	}
	total := 1
	for _, command := range p.Cmds {
		for _, argument := range command.Args {
			total++
			switch a := argument.(type) {
			case *parse.IdentifierNode:
				if !slices.Contains(allowedFunctions(), a.Ident) {
					return 0, fmt.Errorf("it must not call %s; it may call %s", a.Ident, strings.Join(allowedFunctions(), ", "))
				}
			case *parse.PipeNode:
				nodes, err := restrictPipe(a)
				if err != nil {
					return 0, err
				}
				total += nodes
			case *parse.ChainNode:
				inner, ok := a.Node.(*parse.PipeNode)
				if !ok {
					continue
				}
				nodes, err := restrictPipe(inner)
				if err != nil {
					return 0, err
				}
				total += nodes
			}
		}
	}
	return total, nil
}

// countSteps puts a call of the step function at the head of a loop's body.
func countSteps(body *parse.ListNode, nodes int) error {
	counter, err := template.New("").Funcs(template.FuncMap{stepFunction: func(int) string { return "" }}).
		Parse(fmt.Sprintf("{{%s %d}}", stepFunction, nodes))
	if err != nil {
		return fmt.Errorf("count the steps of a loop: %w", err)
	}
	body.Nodes = slices.Insert(body.Nodes, 0, counter.Root.Nodes[0])
	return nil
}
