package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	validatepb "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/entail/entailtest"
	"plumbline/server/fault"
	"plumbline/server/service"
)

// TestEveryRuleOfTheSchemaIsEnforced walks the descriptors of every request,
// breaks each rule that it finds, alone, and expects a fault that names the
// field. A rule of a kind that violate does not know, a rule over a whole
// message that messageCases lacks, and an rpc that callers lacks fail the test.
func TestEveryRuleOfTheSchemaIsEnforced(t *testing.T) {
	s := newService(t, service.Deps{Verifiers: only(entailtest.Overlap())})
	calls := callers(s)
	var broken int
	for _, descriptor := range service.Services() {
		for i := range descriptor.Methods().Len() {
			method := descriptor.Methods().Get(i)
			call, ok := calls[service.Procedure(method)]
			if !ok {
				t.Errorf("there is no caller for %s", service.Procedure(method))
				continue
			}
			w := walker{t: t, root: method.Input(), call: call}
			w.walk(method.Input(), "", func(change change) protoreflect.Message {
				m := minimal(method.Input(), "x")
				change(m)
				return m
			})
			broken += w.broken
		}
	}
	// Not a target: it only shows that the walk has found the schema.
	if broken < 100 {
		t.Errorf("only %d rules were found", broken)
	}
	t.Logf("%d rules were broken, one at a time", broken)
}

// change makes a valid message break a rule.
type change func(protoreflect.Message)

// build makes a request whose part under test was changed.
type build func(change) protoreflect.Message

type walker struct {
	t      *testing.T
	root   protoreflect.MessageDescriptor
	call   func(context.Context, []byte) error
	broken int
}

func (w *walker) walk(m protoreflect.MessageDescriptor, path string, request build) {
	rules, err := protovalidate.ResolveMessageRules(m)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, rule := range rules.GetCel() {
		change, ok := messageCases()[rule.GetId()]
		if !ok {
			w.t.Errorf("%s: there is no case for the rule %s", m.FullName(), rule.GetId())
			continue
		}
		w.expect(request(change), path, rule.GetId())
	}
	for i := range m.Fields().Len() {
		w.field(m.Fields().Get(i), path, request)
	}
}

func (w *walker) field(field protoreflect.FieldDescriptor, path string, request build) {
	rules, err := protovalidate.ResolveFieldRules(field)
	if err != nil {
		w.t.Fatal(err)
	}
	if rules.GetIgnore() == validatepb.Ignore_IGNORE_ALWAYS {
		return
	}
	here := strings.TrimPrefix(path+"."+string(field.Name()), ".")
	w.rules(field, rules, here, request)
	if field.IsMap() || field.Message() == nil || field.Message().ParentFile().Package() != w.root.ParentFile().Package() {
		return
	}
	if field.IsList() {
		if rules.GetRepeated().GetItems().GetIgnore() == validatepb.Ignore_IGNORE_ALWAYS {
			return
		}
		here += "[0]"
	}
	w.walk(field.Message(), here, func(change change) protoreflect.Message {
		return request(func(parent protoreflect.Message) {
			child := minimal(field.Message(), "x")
			change(child)
			if field.IsList() {
				list := parent.NewField(field).List()
				list.Append(protoreflect.ValueOfMessage(child))
				parent.Set(field, protoreflect.ValueOfList(list))
				return
			}
			parent.Set(field, protoreflect.ValueOfMessage(child))
		})
	})
}

// rules breaks every rule of one field.
func (w *walker) rules(field protoreflect.FieldDescriptor, rules *validatepb.FieldRules, path string, request build) {
	if len(rules.GetCel()) > 0 || rules.GetRequired() {
		w.t.Errorf("%s has rules of a kind that this test does not know", path)
	}
	if items := rules.GetRepeated().GetItems(); items != nil {
		eachRule(items, func(rule string, limit protoreflect.Value) {
			value := w.violate(path, field, rule, limit)
			w.expect(request(func(m protoreflect.Message) {
				list := m.NewField(field).List()
				list.Append(value)
				m.Set(field, protoreflect.ValueOfList(list))
			}), path+"[0]", rule)
		})
	}
	if values := rules.GetMap().GetValues(); values != nil {
		eachRule(values, func(rule string, limit protoreflect.Value) {
			value := w.violate(path, field.MapValue(), rule, limit)
			w.expect(request(func(m protoreflect.Message) {
				entries := m.NewField(field).Map()
				entries.Set(protoreflect.ValueOfString("k").MapKey(), value)
				m.Set(field, protoreflect.ValueOfMap(entries))
			}), path+`["k"]`, rule)
		})
	}
	eachRule(rules, func(rule string, limit protoreflect.Value) {
		w.expect(request(func(m protoreflect.Message) {
			switch rule {
			case "repeated.min_items":
				m.Clear(field)
			case "repeated.max_items":
				m.Set(field, manyItems(m, field, int(limit.Uint())+1))
			case "repeated.unique":
				list := m.NewField(field).List()
				list.Append(protoreflect.ValueOfString("same"))
				list.Append(protoreflect.ValueOfString("same"))
				m.Set(field, protoreflect.ValueOfList(list))
			case "map.max_pairs":
				entries := m.NewField(field).Map()
				for i := range int(limit.Uint()) + 1 {
					entries.Set(protoreflect.ValueOfString(fmt.Sprint(i)).MapKey(), entries.NewValue())
				}
				m.Set(field, protoreflect.ValueOfMap(entries))
			default:
				m.Set(field, w.violate(path, field, rule, limit))
			}
		}), path, rule)
	})
}

// eachRule calls yield for every rule that is set, such as "string.max_len".
func eachRule(rules *validatepb.FieldRules, yield func(rule string, limit protoreflect.Value)) {
	m := rules.ProtoReflect()
	kind := m.WhichOneof(m.Descriptor().Oneofs().ByName("type"))
	if kind == nil {
		return
	}
	m.Get(kind).Message().Range(func(rule protoreflect.FieldDescriptor, limit protoreflect.Value) bool {
		if name := string(kind.Name()) + "." + string(rule.Name()); name != "repeated.items" && name != "map.values" {
			yield(name, limit)
		}
		return true
	})
}

// violate is a value that breaks a rule of a single value.
func (w *walker) violate(path string, field protoreflect.FieldDescriptor, rule string, limit protoreflect.Value) protoreflect.Value {
	switch rule {
	case "string.min_len":
		return protoreflect.ValueOfString(strings.Repeat("a", int(limit.Uint())-1))
	case "string.max_len":
		return protoreflect.ValueOfString(strings.Repeat("a", int(limit.Uint())+1))
	case "uint32.lte":
		return protoreflect.ValueOfUint32(uint32(limit.Uint()) + 1)
	case "double.gte":
		return protoreflect.ValueOfFloat64(math.Nextafter(limit.Float(), math.Inf(-1)))
	case "double.gt":
		return protoreflect.ValueOfFloat64(limit.Float())
	case "double.lte":
		return protoreflect.ValueOfFloat64(math.Nextafter(limit.Float(), math.Inf(1)))
	case "double.finite":
		return protoreflect.ValueOfFloat64(math.Inf(1))
	case "float.finite":
		return protoreflect.ValueOfFloat32(float32(math.Inf(1)))
	case "enum.defined_only":
		return protoreflect.ValueOfEnum(9999)
	case "enum.not_in":
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(limit.List().Get(0).Int()))
	default:
		w.t.Errorf("%s: there is no case for the rule %s", path, rule)
		return field.Default()
	}
}

// expect calls the rpc and wants a fault that names the path and nothing else.
func (w *walker) expect(m protoreflect.Message, path, rule string) {
	w.broken++
	data, err := proto.Marshal(m.Interface())
	if err != nil {
		w.t.Errorf("%s %s: %v", path, rule, err)
		return
	}
	err = w.call(w.t.Context(), data)
	e := fault.From(err)
	if e == nil || e.Reason != fault.FieldInvalid || len(e.Violations) == 0 {
		w.t.Errorf("%s with %s broken at %q: got %v", w.root.Name(), rule, path, err)
		return
	}
	for _, v := range e.Violations {
		if v.Field != path || v.Description == "" {
			w.t.Errorf("%s with %s broken at %q: the fault names %q (%s)", w.root.Name(), rule, path, v.Field, v.Description)
		}
	}
}

// minimal is a message with just what its rules demand. name fills the texts
// that must not be empty, so that neighbours in a list can differ.
func minimal(m protoreflect.MessageDescriptor, name string) protoreflect.Message {
	message := dynamicpb.NewMessage(m)
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		rules, err := protovalidate.ResolveFieldRules(field)
		if err != nil {
			continue
		}
		switch {
		case rules.GetString().GetMinLen() > 0:
			message.Set(field, protoreflect.ValueOfString(name))
		case rules.GetRepeated().GetMinItems() > 0:
			message.Set(field, manyItems(message, field, int(rules.GetRepeated().GetMinItems())))
		}
	}
	return message
}

func manyItems(m protoreflect.Message, field protoreflect.FieldDescriptor, n int) protoreflect.Value {
	list := m.NewField(field).List()
	for i := range n {
		name := fmt.Sprintf("x%d", i)
		switch field.Kind() {
		case protoreflect.MessageKind:
			list.Append(protoreflect.ValueOfMessage(minimal(field.Message(), name)))
		case protoreflect.StringKind:
			list.Append(protoreflect.ValueOfString(name))
		default:
			list.Append(list.NewElement())
		}
	}
	return protoreflect.ValueOfList(list)
}

// messageCases break the rules over whole messages, by their ids.
func messageCases() map[string]change {
	fieldOf := func(m protoreflect.Message, name protoreflect.Name) protoreflect.FieldDescriptor {
		return m.Descriptor().Fields().ByName(name)
	}
	return map[string]change{
		"rankings.unique_names": func(m protoreflect.Message) {
			rankings := fieldOf(m, "rankings")
			list := m.NewField(rankings).List()
			for range 2 {
				list.Append(protoreflect.ValueOfMessage(minimal(rankings.Message(), "same")))
			}
			m.Set(rankings, protoreflect.ValueOfList(list))
		},
		"claims.exactly_one_form": func(m protoreflect.Message) {
			m.Set(fieldOf(m, "answer"), protoreflect.ValueOfString("An answer."))
			m.Set(fieldOf(m, "answers"), manyItems(m, fieldOf(m, "answers"), 1))
		},
	}
}

// callers has, for each rpc, how to send it a message and learn its fault.
func callers(s *service.Service) map[string]func(context.Context, []byte) error {
	return map[string]func(context.Context, []byte) error{
		plumblinev1.RetrievalService_ScoreRetrieval_FullMethodName:       unary(s.ScoreRetrieval),
		plumblinev1.RetrievalService_BatchScoreRetrieval_FullMethodName:  unary(s.BatchScoreRetrieval),
		plumblinev1.RetrievalService_StreamScoreRetrieval_FullMethodName: bidi(s.StreamScoreRetrieval, nil),
		plumblinev1.GroundingService_ScoreGrounding_FullMethodName:       unary(s.ScoreGrounding),
		plumblinev1.GroundingService_BatchScoreGrounding_FullMethodName:  unary(s.BatchScoreGrounding),
		plumblinev1.GroundingService_StreamScoreGrounding_FullMethodName: bidi(s.StreamScoreGrounding, func(r *plumblinev1.StreamScoreGroundingResponse) *plumblinev1.ItemError {
			return r.GetError()
		}),
		plumblinev1.ConfidenceService_ScoreConfidence_FullMethodName:       unary(s.ScoreConfidence),
		plumblinev1.ConfidenceService_BatchScoreConfidence_FullMethodName:  unary(s.BatchScoreConfidence),
		plumblinev1.ConfidenceService_StreamScoreConfidence_FullMethodName: bidi(s.StreamScoreConfidence, nil),
		plumblinev1.TelemetryService_Observe_FullMethodName:                unary(s.Observe),
		plumblinev1.GateService_Decide_FullMethodName:                      unary(s.Decide),
		plumblinev1.GateService_BatchDecide_FullMethodName:                 unary(s.BatchDecide),
		plumblinev1.GateService_StreamDecide_FullMethodName:                bidi(s.StreamDecide, nil),
		plumblinev1.GateService_ListGates_FullMethodName:                   unary(s.ListGates),
		plumblinev1.GateService_GetPolicy_FullMethodName:                   unary(s.GetPolicy),
		plumblinev1.CalibrationService_Fit_FullMethodName: collect(s.Fit, &plumblinev1.FitRequest{
			Frame: &plumblinev1.FitRequest_Options{Options: &plumblinev1.FitOptions{}},
		}),
		plumblinev1.CalibrationService_Evaluate_FullMethodName: collect(s.Evaluate, &plumblinev1.EvaluateRequest{
			Frame: &plumblinev1.EvaluateRequest_Options{Options: &plumblinev1.EvaluateOptions{}},
		}),
		plumblinev1.CalibrationService_Replay_FullMethodName: collect(s.Replay, &plumblinev1.ReplayRequest{
			Frame: &plumblinev1.ReplayRequest_Options{Options: &plumblinev1.ReplayOptions{}},
		}),
		plumblinev1.VerifierService_Describe_FullMethodName: unary(s.Describe),
		plumblinev1.VerifierService_Verify_FullMethodName:   bidi(s.Verify, nil),
		plumblinev1.InfoService_GetInfo_FullMethodName:      unary(s.GetInfo),
	}
}

func decoded[Req any](data []byte) (*Req, error) {
	req := new(Req)
	return req, proto.Unmarshal(data, any(req).(proto.Message))
}

func unary[Req, Res any](call func(context.Context, *Req) (*Res, error)) func(context.Context, []byte) error {
	return func(ctx context.Context, data []byte) error {
		req, err := decoded[Req](data)
		if err != nil {
			return err
		}
		_, err = call(ctx, req)
		return err
	}
}

// bidi sends one message. itemError finds the fault where it comes as a
// message; nil where it ends the stream.
func bidi[Req, Res any](call func(context.Context, service.Stream[Req, Res]) error, itemError func(*Res) *plumblinev1.ItemError) func(context.Context, []byte) error {
	return func(ctx context.Context, data []byte) error {
		req, err := decoded[Req](data)
		if err != nil {
			return err
		}
		p := newPipe[Req, Res](req)
		close(p.requests)
		err = call(ctx, p)
		if err != nil || itemError == nil {
			return err
		}
		for _, res := range p.finish() {
			if item := itemError(res); item != nil {
				return fault.Field(fault.Reason(item.GetReason()), item.GetField(), "%s", item.GetMessage())
			}
		}
		return nil
	}
}

// frames is a client stream in memory.
type frames[Req any] struct{ rest []*Req }

func (f *frames[Req]) Recv() (*Req, error) {
	if len(f.rest) == 0 {
		return nil, io.EOF
	}
	first := f.rest[0]
	f.rest = f.rest[1:]
	return first, nil
}

// collect sends the message first and then, if that is out of order because it
// is no options frame, after good options.
func collect[Req, Res any](call func(context.Context, service.Source[Req]) (*Res, error), options *Req) func(context.Context, []byte) error {
	return func(ctx context.Context, data []byte) error {
		for _, before := range [][]*Req{nil, {options}} {
			req, err := decoded[Req](data)
			if err != nil {
				return err
			}
			_, err = call(ctx, &frames[Req]{slices.Concat(before, []*Req{req})})
			var e *fault.Error
			if !errors.As(err, &e) || e.Reason != fault.OutOfOrder {
				return err
			}
		}
		return errors.New("the frame is out of order wherever it comes")
	}
}
