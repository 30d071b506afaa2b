package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"plumbline/server/fault"
)

// inbound is what both transports receive into. A message that cannot be
// decoded is no error towards the transport, which would answer in its own
// words and past the policy; it is kept here and becomes the call's fault.
type inbound[T any] struct {
	message *T
	err     error
}

// decoder is the side of inbound that the codecs see.
type decoder interface {
	decode(unmarshal func(proto.Message) error)
}

func (in *inbound[T]) decode(unmarshal func(proto.Message) error) {
	in.message = new(T)
	message, ok := any(in.message).(proto.Message)
	if !ok {
		in.err = fmt.Errorf("%T is no message", in.message)
		return
	}
	in.err = unmarshal(message)
}

// take returns the message or why it could not be decoded.
func (in *inbound[T]) take() (*T, error) {
	if refused, ok := errors.AsType[*fault.Error](in.err); ok {
		return nil, refused
	}
	if in.err != nil {
		return nil, fault.New(fault.MessageMalformed, "the message cannot be decoded: %s", plain(in.err)).Because(in.err)
	}
	if in.message == nil { // An empty body is the empty message; no codec is asked.
		return new(T), nil
	}
	return in.message, nil
}

// plain is the text of a protobuf error without its prefix, whose blank the
// library varies on purpose.
func plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "proto:")
	return strings.TrimLeft(text, " \u00a0")
}

// grpcCodec is grpc-go's protobuf codec for inbound messages too. It encodes
// by generated code where a message has it: maps of messages take the library,
// which reads them by reflection, several times as long.
type grpcCodec struct {
	encoding.CodecV2
	bounds bounds
}

// encoder is a message with generated code for encoding.
type encoder interface {
	SizeVT() int
	MarshalToSizedBufferVT(to []byte) (int, error)
}

// Marshal implements encoding.CodecV2.
func (c grpcCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(encoder)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	size, pool := m.SizeVT(), mem.BufferPool(mem.NopBufferPool{})
	if !mem.IsBelowBufferPoolingThreshold(size) {
		pool = mem.DefaultBufferPool()
	}
	data := pool.Get(size)
	if _, err := m.MarshalToSizedBufferVT(*data); err != nil {
		pool.Put(data)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(data, pool)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (c grpcCodec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(decoder)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	in.decode(func(m proto.Message) error {
		if err := c.bounds.checkWire(nameOf(m), whole.ReadOnlyData()); err != nil {
			return err
		}
		return c.CodecV2.Unmarshal(mem.BufferSlice{whole}, m)
	})
	return nil
}

// binaryCodec is connect-go's protobuf codec for inbound messages too.
type binaryCodec struct{ bounds bounds }

// Name implements connect.Codec.
func (binaryCodec) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (c binaryCodec) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend implements connect.Codec and its extensions.
func (binaryCodec) MarshalAppend(dst []byte, v any) ([]byte, error) {
	m, err := message(v)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{}.MarshalAppend(dst, m)
}

// MarshalStable implements connect.Codec and its extensions.
func (binaryCodec) MarshalStable(v any) ([]byte, error) {
	m, err := message(v)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// IsBinary implements connect.Codec and its extensions.
func (binaryCodec) IsBinary() bool { return true }

// Unmarshal implements connect.Codec.
func (c binaryCodec) Unmarshal(data []byte, v any) error {
	return unmarshal(v, func(m proto.Message) error {
		if err := c.bounds.checkWire(nameOf(m), data); err != nil {
			return err
		}
		return proto.Unmarshal(data, m)
	})
}

// jsonCodec is protobuf-JSON that refuses unknown fields, where connect-go's
// own drops them: a misspelt option must not be ignored in silence.
type jsonCodec struct {
	name   string
	bounds bounds
}

// Name implements connect.Codec.
func (c jsonCodec) Name() string { return c.name }

// Marshal implements connect.Codec.
func (c jsonCodec) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend implements connect.Codec and its extensions.
func (jsonCodec) MarshalAppend(dst []byte, v any) ([]byte, error) {
	m, err := message(v)
	if err != nil {
		return nil, err
	}
	// Names as in the schema, as on the command line; both forms are read. Zeros
	// are written: a script that reads span.start must find it.
	return protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.MarshalAppend(dst, m)
}

// MarshalStable implements connect.Codec and its extensions.
func (c jsonCodec) MarshalStable(v any) ([]byte, error) {
	data, err := c.Marshal(v)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, data)
	return compact.Bytes(), err
}

// IsBinary implements connect.Codec and its extensions.
func (jsonCodec) IsBinary() bool { return false }

// Unmarshal implements connect.Codec.
func (c jsonCodec) Unmarshal(data []byte, v any) error {
	return unmarshal(v, func(m proto.Message) error {
		if len(data) == 0 {
			return errors.New("an empty body is no JSON object; send {} for the empty message")
		}
		if err := c.bounds.checkJSON(nameOf(m), data); err != nil {
			return err
		}
		return protojson.Unmarshal(data, m)
	})
}

func unmarshal(v any, decode func(proto.Message) error) error {
	if in, ok := v.(decoder); ok {
		in.decode(decode)
		return nil
	}
	m, err := message(v)
	if err != nil {
		return err
	}
	return decode(m)
}

func message(v any) (proto.Message, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no protobuf message", v)
	}
	return m, nil
}

func nameOf(m proto.Message) protoreflect.FullName { return m.ProtoReflect().Descriptor().FullName() }
