package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"plumbline/server/fault"
)

// Encode writes a message as one line of protobuf-JSON with proto field names,
// without the line break. Zeros are written, as the server's JSON has them;
// values that are absent are not. Equal messages give equal bytes.
func Encode(message proto.Message) ([]byte, error) {
	data, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(message)
	if err != nil {
		return nil, err
	}
	// protojson puts in blanks at random so that nobody relies on its bytes;
	// the command line promises that equal runs give equal files.
	var line bytes.Buffer
	err = json.Compact(&line, data)
	return line.Bytes(), err
}

// Decode reads one record into message. Both spellings of a field (max_score
// and maxScore) are read; an unknown field is an error. What it returns names
// the field and never quotes a value, since records hold evidence.
func Decode(data []byte, message proto.Message) error {
	if !utf8.Valid(data) {
		return fault.New(fault.MessageMalformed, "byte %d is not valid UTF-8: save the file as UTF-8", firstInvalidByte(data)+1)
	}
	err := protojson.Unmarshal(data, message)
	if err == nil {
		return nil
	}
	if problem := diagnose(data, message.ProtoReflect().Descriptor()); problem != nil {
		return problem
	}
	return fault.New(fault.MessageMalformed, "cannot be read as %s in protobuf-JSON", message.ProtoReflect().Descriptor().Name())
}

// malformed is the failure of one field, or of the record where path is empty.
func malformed(path, format string, args ...any) error {
	if path == "" {
		return fault.New(fault.MessageMalformed, format, args...)
	}
	return fault.Field(fault.MessageMalformed, path, format, args...)
}

func firstInvalidByte(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// diagnose finds the first thing that keeps JSON from being a message of the
// given type. protojson's own errors carry a column but no field path, and they
// quote values.
func diagnose(data []byte, message protoreflect.MessageDescriptor) error {
	d := diagnosis{decoder: json.NewDecoder(bytes.NewReader(data))}
	d.decoder.UseNumber()
	err := d.message(message, "")
	if err == nil {
		if _, err := d.decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return malformed("", "there is text after the end of the record: one record is one JSON object on one line")
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return malformed("", "not JSON at byte %d: one record is one JSON object on one line", syntax.Offset+1)
	case errors.Is(err, errCutOff):
		return malformed("", "the JSON ends too early: one record is one JSON object on one line")
	default:
		return err
	}
}

// errCutOff is the end of the data inside a value.
var errCutOff = errors.New("the JSON ends too early")

// diagnosis walks JSON along a message's descriptor.
type diagnosis struct{ decoder *json.Decoder }

func (d *diagnosis) token() (json.Token, error) {
	token, err := d.decoder.Token()
	var syntax *json.SyntaxError
	if err != nil && !errors.As(err, &syntax) {
		return nil, errCutOff
	}
	return token, err
}

// open reads the delimiter that starts an object or a list. It reports false
// for null, which stands for an absent field.
func (d *diagnosis) open(delim json.Delim, path string) (bool, error) {
	token, err := d.token()
	if err != nil || token == nil {
		return false, err
	}
	if token != delim {
		return false, mismatch(path, map[json.Delim]string{'{': "an object", '[': "a list"}[delim], token)
	}
	return true, nil
}

// each calls entry for every entry of the object or list that has been opened
// and reads its end. In an object entry gets the key.
func (d *diagnosis) each(object bool, entry func(key string, index int) error) error {
	for index := 0; d.decoder.More(); index++ {
		key := ""
		if object {
			token, err := d.token()
			if err != nil {
				return err
			}
			key, _ = token.(string)
		}
		if err := entry(key, index); err != nil {
			return err
		}
	}
	_, err := d.token()
	return err
}

func (d *diagnosis) message(message protoreflect.MessageDescriptor, path string) error {
	if message.ParentFile().Package() == "google.protobuf" {
		// Well-known types have JSON forms of their own, such as "1.5s".
		return d.skip()
	}
	opened, err := d.open('{', path)
	if err != nil || !opened {
		return err
	}
	seen := map[protoreflect.Name]bool{}
	return d.each(true, func(key string, _ int) error {
		field := message.Fields().ByJSONName(key)
		if field == nil {
			field = message.Fields().ByTextName(key)
		}
		if field == nil {
			return malformed(join(path, key), "unknown field in %s: check its spelling", message.Name())
		}
		path := join(path, string(field.Name()))
		if err := repeats(seen, field, path); err != nil {
			return err
		}
		return d.field(field, path)
	})
}

// repeats reports a field that is given twice or beside one that excludes it.
func repeats(seen map[protoreflect.Name]bool, field protoreflect.FieldDescriptor, path string) error {
	if seen[field.Name()] {
		return malformed(path, "given twice")
	}
	seen[field.Name()] = true
	if oneof := field.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
		if seen[oneof.Name()] {
			return malformed(path, "give only one of the fields of %s", oneof.Name())
		}
		seen[oneof.Name()] = true
	}
	return nil
}

func (d *diagnosis) field(field protoreflect.FieldDescriptor, path string) error {
	switch {
	case field.IsMap():
		return d.entries('{', path, func(key string, _ int) error {
			return d.value(field.MapValue(), fmt.Sprintf("%s[%q]", path, key))
		})
	case field.IsList():
		return d.entries('[', path, func(_ string, index int) error {
			return d.value(field, fmt.Sprintf("%s[%d]", path, index))
		})
	default:
		return d.value(field, path)
	}
}

func (d *diagnosis) entries(delim json.Delim, path string, entry func(string, int) error) error {
	opened, err := d.open(delim, path)
	if err != nil || !opened {
		return err
	}
	return d.each(delim == '{', entry)
}

func (d *diagnosis) value(field protoreflect.FieldDescriptor, path string) error {
	if field.Message() != nil {
		return d.message(field.Message(), path)
	}
	token, err := d.token()
	if err != nil || token == nil {
		return err
	}
	if want, ok := accepts(field, token); !ok {
		return mismatch(path, want, token)
	}
	return nil
}

// skip passes over one value of any kind.
func (d *diagnosis) skip() error {
	var raw json.RawMessage
	err := d.decoder.Decode(&raw)
	var syntax *json.SyntaxError
	if err != nil && !errors.As(err, &syntax) {
		return errCutOff
	}
	return err
}

// accepts says whether a scalar fits the field and, for people, what would.
// Numbers may stand in strings, as protobuf-JSON writes those of 64 bits.
func accepts(field protoreflect.FieldDescriptor, token json.Token) (want string, ok bool) {
	text, isText := token.(string)
	number, isNumber := token.(json.Number)
	if isNumber {
		text = number.String()
	}
	numeric := isText || isNumber
	switch field.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind:
		return "a string", isText
	case protoreflect.BoolKind:
		_, isBool := token.(bool)
		return "true or false", isBool
	case protoreflect.EnumKind:
		known := field.Enum().Values().ByName(protoreflect.Name(text)) != nil
		return "one of " + enumNames(field.Enum()), isText && known || isNumber
	case protoreflect.DoubleKind:
		return "a number", numeric && isFloat(text, 64)
	case protoreflect.FloatKind:
		return "a number of single precision", numeric && isFloat(text, 32)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return "a whole number from 0 to 4294967295", numeric && isWhole(text, 0, math.MaxUint32)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return "a whole number that is not negative", numeric && isWhole(text, 0, math.MaxUint64)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return "a whole number of 32 bits", numeric && isWhole(text, math.MinInt32, math.MaxInt32)
	default:
		return "a whole number", numeric && isWhole(text, math.MinInt64, math.MaxInt64)
	}
}

func isFloat(text string, bits int) bool {
	_, err := strconv.ParseFloat(text, bits)
	return err == nil
}

func isWhole(text string, least, greatest float64) bool {
	value, err := strconv.ParseFloat(text, 64)
	return err == nil && value == math.Trunc(value) && value >= least && value <= greatest
}

func enumNames(enum protoreflect.EnumDescriptor) string {
	names := make([]string, enum.Values().Len())
	for i := range names {
		names[i] = string(enum.Values().Get(i).Name())
	}
	return strings.Join(names, ", ")
}

func mismatch(path, want string, token json.Token) error {
	var found string
	switch token := token.(type) {
	case json.Delim:
		found = map[json.Delim]string{'{': "an object", '[': "a list"}[token]
	case string:
		found = "a string"
	case json.Number:
		found = "a number"
	case bool:
		found = "true or false"
	}
	return malformed(path, "must be %s, found %s", want, found)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
