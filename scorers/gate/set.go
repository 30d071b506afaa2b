package gate

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

//go:embed policies
var builtin embed.FS

// Set is an immutable collection of gates by name, with their fallbacks. It is
// safe for concurrent use; With makes a new one.
type Set struct {
	opts  Options
	gates map[string]*Gate
	// chains has, for each gate, the gate itself and then the fallbacks to try,
	// each once, in order.
	chains map[string][]*Gate
}

// Builtin is the set of the policies that come with the service.
func Builtin(opts Options) (*Set, error) {
	folder, err := fs.Sub(builtin, "policies")
	if err != nil {
		return nil, fmt.Errorf("open the built-in policies: %w", err)
	}
	sources, err := LoadDir(folder)
	if err != nil {
		return nil, err
	}
	return (&Set{opts: opts}).With(sources...)
}

// With returns the set with more policies. A policy of a name that the set has
// replaces it, which a warning of the new one says. On any error, which joins
// one *Error for each fault and names the file and line where there is one, the
// receiver stays what it was and may be used on.
func (s *Set) With(sources ...Source) (*Set, error) {
	var errs []*Error
	next := &Set{opts: s.opts, gates: maps.Clone(s.gates)}
	if next.gates == nil {
		next.gates = map[string]*Gate{}
	}
	from := map[string]Source{}
	for _, source := range sources {
		g, faults := compile(source.Policy, s.opts)
		if len(faults) > 0 {
			errs = append(errs, locate(source, faults)...)
			continue
		}
		if first, ok := from[g.Name()]; ok {
			errs = append(errs, locate(source, []*Error{{Policy: g.Name(), Field: "name", Message: fmt.Sprintf("the name is taken by %s", first.position("name"))}})...)
			continue
		}
		from[g.Name()] = source
		if _, ok := s.gates[g.Name()]; ok {
			g.warnings = append(g.warnings, Warning{Field: "name", Message: "replaces the policy of that name"})
		}
		next.gates[g.Name()] = g
	}
	if len(errs) == 0 {
		for _, fault := range next.link() {
			errs = append(errs, locate(from[fault.Policy], []*Error{fault})...)
		}
	}
	if len(errs) > 0 {
		return nil, join(errs)
	}
	return next, nil
}

// locate adds the position in the file.
func locate(source Source, faults []*Error) []*Error {
	for _, f := range faults {
		f.Position = source.position(f.Field)
	}
	return faults
}

// link resolves the fallbacks of every policy.
func (s *Set) link() []*Error {
	var errs []*Error
	s.chains = make(map[string][]*Gate, len(s.gates))
	for _, name := range s.Names() {
		chain, fault := s.chain(name, nil, nil)
		if fault != nil {
			fault.Policy = name
			errs = append(errs, fault)
		}
		s.chains[name] = chain
	}
	return errs
}

// chain appends a policy and, depth first, its fallbacks. above are the
// policies that led here, so that a circle is seen.
func (s *Set) chain(name string, above []string, chain []*Gate) ([]*Gate, *Error) {
	if slices.Contains(above, name) {
		return nil, &Error{Field: "fallbacks", Message: "the fallbacks form a circle: " + strings.Join(append(above, name), " → ")}
	}
	g, ok := s.gates[name]
	if !ok {
		return nil, &Error{Field: "fallbacks", Message: fmt.Sprintf("there is no policy %q to fall back on", name)}
	}
	if slices.Contains(chain, g) {
		return chain, nil
	}
	chain = append(chain, g)
	var fault *Error
	for _, next := range g.policy.GetFallbacks() {
		if chain, fault = s.chain(next, append(slices.Clip(above), name), chain); fault != nil {
			return nil, fault
		}
	}
	return chain, nil
}

// Names lists the policies in alphabetical order.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.gates)) }

// Gate finds a policy; the error is an *UnknownPolicyError.
func (s *Set) Gate(name string) (*Gate, error) {
	g, ok := s.gates[name]
	if !ok {
		return nil, &UnknownPolicyError{Name: name}
	}
	return g, nil
}

// Apply decides by a policy and, where its inputs are missing, by its fallbacks
// in turn; if none can decide, by the policy's own default. Thresholds replace
// those of the named policy only: a fallback reads another score, on which they
// would mean something else.
func (s *Set) Apply(name string, in Inputs, thresholds map[string]float64) (Decision, error) {
	g, err := s.Gate(name)
	if err != nil {
		return Decision{}, err
	}
	if len(thresholds) > 0 {
		if g, err = g.With(thresholds); err != nil {
			return Decision{}, err
		}
	}
	first, why := g.try(in)
	if why == nil {
		return withLoadWarnings(first, g, thresholds), nil
	}
	missing := first.Missing
	for _, fallback := range s.chains[name][1:] {
		d, undecided := fallback.try(in)
		missing = appendNew(missing, d.Missing)
		if undecided == nil {
			d.Missing = missing
			d.Warnings = append(d.Warnings, fmt.Sprintf("decided by %s, a fallback of %s: %s", fallback.Name(), name, why.reason.Reason))
			return d, nil
		}
	}
	g.useDefault(&first, why)
	first.Missing = missing
	return withLoadWarnings(first, g, thresholds), nil
}

// withLoadWarnings says what is odd about thresholds of a request, which no one
// saw when the policy was loaded.
func withLoadWarnings(d Decision, g *Gate, thresholds map[string]float64) Decision {
	if len(thresholds) > 0 {
		for _, w := range g.warnings {
			d.Warnings = append(d.Warnings, w.String())
		}
	}
	return d
}

func appendNew(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// actions are what a policy can decide: by its rule, by default, or by a
// fallback.
func (s *Set) actions(g *Gate) []plumblinev1.Action {
	var all []plumblinev1.Action
	for i, member := range s.chains[g.Name()] {
		all = append(all, member.rule.actions()...)
		if i > 0 {
			continue
		}
		for _, in := range member.inputs {
			all = append(all, in.onMissing)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
