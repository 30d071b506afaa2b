package server

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	validatepb "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/server/fault"
)

const (
	// uncounted is the size in bytes up to which a message is not counted before
	// it is decoded: it can hold no more than half as many items, which cost
	// little, and the validator counts them in any case.
	uncounted = 64 << 10
	// ownErrors is how many times the bound a field may exceed in a part that is
	// validated on its own, such as a request of a batch. Up to there the part
	// gets an error of its own from the validator; beyond, the whole message is
	// refused.
	ownErrors = 2
)

// bounds are the most items that the fields of requests may have, by the
// request. They are checked on the undecoded message: an empty item is two
// bytes there and a hundred once decoded, so that a message within the limit of
// size could otherwise take a hundred times its size before it is refused.
type bounds map[protoreflect.FullName]*shape

// shape is one message type at one place in a request: its fields that have a
// bound, or a bound within.
type shape struct {
	byNumber map[protowire.Number]*bounded
	byName   map[string]*bounded // both names of JSON
	counters int                 // as many as a count of the root needs
}

// bounded is a field that can have several items.
type bounded struct {
	field  protoreflect.FieldDescriptor
	most   int    // items; 0 if any number is allowed
	broken string // the validator's words for more
	inner  *shape // of its items; nil if nothing in them is bounded
	// counter is where its items are counted, and the counters from there to end
	// are those of the fields within.
	counter, end int
}

// requestBounds reads the bounds of all requests from the schema.
func requestBounds() (bounds, error) {
	all := make(bounds)
	var err error
	protoregistry.GlobalFiles.RangeFilesByPackage(plumblinev1.File_plumbline_v1_common_proto.Package(), func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for k := range methods.Len() {
				request := methods.Get(k).Input()
				var r boundsReader
				all[request.FullName()] = r.message(request, 1)
				err = errors.Join(err, r.err)
			}
		}
		return true
	})
	return all, err
}

// boundsReader reads the bounds of one request.
type boundsReader struct {
	counters int
	within   []protoreflect.FullName
	err      error
}

// message returns the shape of a type, or nil if nothing in it is bounded. The
// type within itself is not followed.
func (r *boundsReader) message(m protoreflect.MessageDescriptor, factor int) *shape {
	if slices.Contains(r.within, m.FullName()) {
		return nil
	}
	r.within = append(r.within, m.FullName())
	defer func() { r.within = r.within[:len(r.within)-1] }()
	s := &shape{byNumber: make(map[protowire.Number]*bounded), byName: make(map[string]*bounded)}
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		if f := r.field(field, factor); f != nil {
			s.byNumber[field.Number()] = f
			s.byName[field.TextName()], s.byName[field.JSONName()] = f, f
		}
	}
	if len(s.byNumber) == 0 {
		return nil
	}
	s.counters = r.counters
	return s
}

func (r *boundsReader) field(field protoreflect.FieldDescriptor, factor int) *bounded {
	rules, err := protovalidate.ResolveFieldRules(field)
	if err != nil {
		r.err = errors.Join(r.err, fmt.Errorf("%s: %w", field.FullName(), err))
		return nil
	}
	f := &bounded{field: field, counter: r.counters}
	ignored := rules.GetIgnore() == validatepb.Ignore_IGNORE_ALWAYS
	switch items, pairs := rules.GetRepeated().GetMaxItems(), rules.GetMap().GetMaxPairs(); {
	case ignored:
	case items > 0:
		f.most, f.broken = factor*int(items), fmt.Sprintf("must contain no more than %d item(s)", items)
	case pairs > 0:
		f.most, f.broken = factor*int(pairs), fmt.Sprintf("map must be at most %d entries", pairs)
	}
	r.counters++
	if field.Message() != nil && !field.IsMap() {
		if ignored || rules.GetRepeated().GetItems().GetIgnore() == validatepb.Ignore_IGNORE_ALWAYS {
			factor = ownErrors
		}
		f.inner = r.message(field.Message(), factor)
	}
	if f.most == 0 && f.inner == nil {
		r.counters = f.counter
		return nil
	}
	f.end = r.counters
	return f
}

// checkWire refuses a message in the binary format that has too many items
// somewhere. What is no message at all is left to the decoder.
func (b bounds) checkWire(request protoreflect.FullName, data []byte) error {
	s := b[request]
	if s == nil || len(data) <= uncounted {
		return nil
	}
	if refused := s.countWire(data, make([]int, s.counters)); refused != nil {
		return refused
	}
	return nil
}

// checkJSON is checkWire for JSON.
func (b bounds) checkJSON(request protoreflect.FullName, data []byte) error {
	s := b[request]
	if s == nil || len(data) <= uncounted {
		return nil
	}
	// A repeated name is for the decoder to refuse; remembering names costs.
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))
	err := s.countJSON(decoder, make([]int, s.counters))
	if refused, ok := errors.AsType[*fault.Error](err); ok {
		return refused
	}
	return nil
}

// countWire adds a message's items to the counters.
func (s *shape) countWire(data []byte, counters []int) *fault.Error {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
			return nil
		}
		if f := s.byNumber[number]; f != nil {
			if refused := f.countWire(kind, data[:n], counters); refused != nil {
				return refused
			}
		}
		data = data[n:]
	}
	return nil
}

func (f *bounded) countWire(kind protowire.Type, value []byte, counters []int) *fault.Error {
	content := value
	if kind == protowire.BytesType {
		content, _ = protowire.ConsumeBytes(value)
	}
	if refused := f.add(f.items(kind, content), counters); refused != nil {
		return refused
	}
	if f.inner == nil || kind != protowire.BytesType {
		return nil
	}
	return f.under(f.inner.countWire(content, counters), counters)
}

// items is how many items one occurrence of the field has: several, where
// numbers are packed.
func (f *bounded) items(kind protowire.Type, content []byte) int {
	if kind != protowire.BytesType || f.field.IsMap() {
		return 1
	}
	switch f.field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind, protoreflect.StringKind, protoreflect.BytesKind:
		return 1
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return len(content) / 4
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return len(content) / 8
	default:
		var n int
		for _, b := range content {
			if b < 0x80 { // The last byte of a number.
				n++
			}
		}
		return n
	}
}

// countJSON reads one value of the message's type and adds its items to the
// counters. Errors that are no fault are those of the syntax.
func (s *shape) countJSON(d *jsontext.Decoder, counters []int) error {
	if d.PeekKind() != '{' {
		return d.SkipValue()
	}
	return eachJSON(d, func() error {
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		var room [64]byte
		plain, err := jsontext.AppendUnquote(room[:0], name)
		if err != nil {
			return err
		}
		f := s.byName[string(plain)]
		if f == nil {
			return d.SkipValue()
		}
		return f.countJSON(d, counters)
	})
}

func (f *bounded) countJSON(d *jsontext.Decoder, counters []int) error {
	item := func() error {
		if refused := f.add(1, counters); refused != nil {
			return refused
		}
		if f.inner == nil {
			return d.SkipValue()
		}
		err := f.inner.countJSON(d, counters)
		if refused, ok := errors.AsType[*fault.Error](err); ok {
			return f.under(refused, counters)
		}
		return err
	}
	switch kind := d.PeekKind(); {
	case f.field.IsList() && kind == '[':
		return eachJSON(d, item)
	case f.field.IsMap() && kind == '{':
		return eachJSON(d, func() error { return errors.Join(d.SkipValue(), item()) })
	default:
		return item()
	}
}

// eachJSON calls read for each element of the array or each member of the
// object that comes next.
func eachJSON(d *jsontext.Decoder, read func() error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for kind := d.PeekKind(); kind != ']' && kind != '}'; kind = d.PeekKind() {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// add counts items of a field and refuses those beyond its bound. A new item of
// a list begins with nothing in it, while a single message that comes in parts
// is one message.
func (f *bounded) add(items int, counters []int) *fault.Error {
	counters[f.counter] += items
	if f.field.IsList() {
		clear(counters[f.counter+1 : f.end])
	}
	if f.most > 0 && counters[f.counter] > f.most {
		return fault.Field(fault.FieldInvalid, f.field.TextName(), "%s", f.broken)
	}
	return nil
}

// under puts the field before the path of what was refused in it.
func (f *bounded) under(refused *fault.Error, counters []int) *fault.Error {
	if refused == nil {
		return nil
	}
	if f.field.IsList() {
		return refused.Under(fmt.Sprintf("%s[%d]", f.field.TextName(), counters[f.counter]-1))
	}
	return refused.Under(f.field.TextName())
}
