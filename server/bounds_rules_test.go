package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"plumbline/server/fault"
)

// TestBoundsAreThoseOfTheValidator goes through every bounded field of every
// request: as many items as allowed pass, one more is refused in the binary
// format and in JSON, with the path and the words of the validator.
func TestBoundsAreThoseOfTheValidator(t *testing.T) {
	all, err := requestBounds()
	if err != nil {
		t.Fatal(err)
	}
	var fields int
	for name, s := range all {
		kind, err := protoregistry.GlobalTypes.FindMessageByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if s == nil {
			continue
		}
		fields += eachBound(s, "", func(fill func(protoreflect.Message)) protoreflect.Message {
			m := kind.New()
			fill(m)
			return m
		}, func(path string, f *bounded, holding func(n int) protoreflect.Message) {
			if got := refusals(t, s, holding(f.most)); got != [2]string{} {
				t.Errorf("%s: %s: %d items are refused: %q", name, path, f.most, got)
			}
			beyond := holding(f.most + 1)
			want := path + ": " + f.broken
			if got := refusals(t, s, beyond); got != [2]string{want, want} {
				t.Errorf("%s: %s: %d items: %q, want %q", name, path, f.most+1, got, want)
			}
			if !strings.Contains(f.broken, fmt.Sprint(" ", f.most, " ")) {
				return // A part that is validated on its own.
			}
			var invalid *protovalidate.ValidationError
			if !errors.As(protovalidate.Validate(beyond.Interface()), &invalid) || !slices.ContainsFunc(fault.From(invalid).Violations, func(v fault.Violation) bool {
				return v == fault.Violation{Field: path, Description: f.broken}
			}) {
				t.Errorf("%s: the validator has other words for %q", name, want)
			}
		})
	}
	if fields < 30 {
		t.Errorf("only %d fields are bounded", fields)
	}
}

// eachBound visits the bounded fields of a shape with a maker of requests in
// which the field has n items and nothing else is set.
func eachBound(s *shape, path string, request func(fill func(protoreflect.Message)) protoreflect.Message,
	visit func(path string, f *bounded, holding func(n int) protoreflect.Message),
) (n int) {
	for _, f := range s.byNumber {
		here := strings.TrimPrefix(path+"."+f.field.TextName(), ".")
		if f.most > 0 {
			n++
			visit(here, f, func(n int) protoreflect.Message {
				return request(func(parent protoreflect.Message) { addItems(parent, f.field, n) })
			})
		}
		if f.inner == nil {
			continue
		}
		if f.field.IsList() {
			here += "[0]"
		}
		n += eachBound(f.inner, here, func(fill func(protoreflect.Message)) protoreflect.Message {
			return request(func(parent protoreflect.Message) {
				if f.field.IsList() {
					fill(parent.Mutable(f.field).List().AppendMutable().Message())
					return
				}
				fill(parent.Mutable(f.field).Message())
			})
		}, visit)
	}
	return n
}

func addItems(m protoreflect.Message, field protoreflect.FieldDescriptor, n int) {
	value := m.Mutable(field)
	for i := range n {
		if field.IsMap() {
			value.Map().Set(protoreflect.ValueOfString(fmt.Sprint(i)).MapKey(), value.Map().NewValue())
			continue
		}
		value.List().Append(value.List().NewElement())
	}
}

// refusals are what is said of a message in the binary format and in JSON.
func refusals(t *testing.T, s *shape, m protoreflect.Message) (said [2]string) {
	t.Helper()
	wire, err := proto.Marshal(m.Interface())
	if err != nil {
		t.Fatal(err)
	}
	if refused := s.countWire(wire, make([]int, s.counters)); refused != nil {
		said[0] = refused.Message
	}
	text, err := protojson.Marshal(m.Interface())
	if err != nil {
		t.Fatal(err)
	}
	err = s.countJSON(jsontext.NewDecoder(strings.NewReader(string(text))), make([]int, s.counters))
	if refused, ok := errors.AsType[*fault.Error](err); ok {
		said[1] = refused.Message
	} else if err != nil {
		t.Errorf("JSON: %v", err)
	}
	return said
}
