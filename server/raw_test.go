package server_test

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// rawMessage is a request whose bytes the test has made up.
type rawMessage struct{ bytes []byte }

// passThrough sends a rawMessage as it is.
type passThrough struct{ encoding.CodecV2 }

func (c passThrough) Marshal(v any) (mem.BufferSlice, error) {
	if raw, ok := v.(*rawMessage); ok {
		return mem.BufferSlice{mem.SliceBuffer(raw.bytes)}, nil
	}
	return c.CodecV2.Marshal(v)
}

func rawCodec() grpc.CallOption {
	return grpc.ForceCodecV2(passThrough{encoding.GetCodecV2(protocodec.Name)})
}
