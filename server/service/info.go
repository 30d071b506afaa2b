package service

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	plumblinev1 "plumbline/proto/plumbline/v1"
	"plumbline/scorers/confidence"
	"plumbline/scorers/entail"
	"plumbline/scorers/grounding"
	"plumbline/scorers/retrieval"
)

// GetInfo returns versions, verifiers, limits, rpcs and the metadata of every
// score.
func (s *Service) GetInfo(ctx context.Context, _ *plumblinev1.GetInfoRequest) (*plumblinev1.GetInfoResponse, error) {
	return &plumblinev1.GetInfoResponse{
		Version:   s.deps.Version,
		Commit:    s.deps.Commit,
		Verifiers: s.verifiers(ctx),
		Scores:    scoreInfos(),
		Limits:    s.deps.Limits,
		Rpcs:      s.rpcs(),
	}, nil
}

// verifiers are asked side by side: one that hangs keeps nobody waiting for the
// others.
func (s *Service) verifiers(ctx context.Context) []*plumblinev1.VerifierInfo {
	infos := make([]*plumblinev1.VerifierInfo, len(s.deps.Verifiers))
	var asked sync.WaitGroup
	for i, v := range s.deps.Verifiers {
		asked.Go(func() {
			infos[i] = &plumblinev1.VerifierInfo{
				Name:     v.Name,
				Default:  i == 0,
				Ready:    v.Ready == nil || v.Ready() == nil,
				Fallback: v.Fallback,
				FailMode: s.failMode(plumblinev1.FailMode_FAIL_MODE_UNSPECIFIED, &v),
			}
			if description, err := describeInTime(ctx, v.Verifier); err == nil {
				infos[i].Description = describeMessage(description)
			}
		})
	}
	asked.Wait()
	return infos
}

// describeInTime is for a reply that is complete without the description.
func describeInTime(ctx context.Context, v entail.Verifier) (entail.Description, error) {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return v.Describe(ctx)
}

// Services are the descriptors of plumbline.v1's services, by name.
func Services() []protoreflect.ServiceDescriptor {
	var services []protoreflect.ServiceDescriptor
	pkg := plumblinev1.File_plumbline_v1_common_proto.Package()
	protoregistry.GlobalFiles.RangeFilesByPackage(pkg, func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			services = append(services, file.Services().Get(i))
		}
		return true
	})
	slices.SortFunc(services, func(a, b protoreflect.ServiceDescriptor) int {
		return strings.Compare(string(a.FullName()), string(b.FullName()))
	})
	return services
}

// Procedure is the path of a method, such as
// "/plumbline.v1.GateService/Decide".
func Procedure(method protoreflect.MethodDescriptor) string {
	return "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
}

// rpcs says of every rpc whether this server answers it.
func (s *Service) rpcs() []*plumblinev1.RpcInfo {
	var infos []*plumblinev1.RpcInfo
	for _, service := range Services() {
		served := s.deps.Services == nil || slices.Contains(s.deps.Services, string(service.FullName()))
		var reason string
		if !served {
			reason = "this server does not serve " + string(service.Name())
		}
		for i := range service.Methods().Len() {
			infos = append(infos, &plumblinev1.RpcInfo{Procedure: Procedure(service.Methods().Get(i)), Implemented: served, Reason: reason})
		}
	}
	return infos
}

// scoreInfos is the metadata of every score and signal.
func scoreInfos() []*plumblinev1.ScoreInfo {
	return slices.Concat(retrieval.Infos(), grounding.Infos(), confidence.Infos())
}
