package grounding

import (
	"google.golang.org/protobuf/proto"

	plumblinev1 "plumbline/proto/plumbline/v1"
)

// Infos describes the scores of this package.
func Infos() []*plumblinev1.ScoreInfo {
	const miniCheck = "Tang et al. 2024, MiniCheck"
	const calVerT = "Vinod, Ding and Stengel-Eskin, CalVerT, section 3"
	infos := []*plumblinev1.ScoreInfo{
		{
			Name: "support", Description: "How probable it is that the evidence entails the claim.",
			Source: miniCheck + ": max over chunks of P(entailment)",
		},
		{
			Name: "contradiction", Description: "How probable it is that the evidence contradicts the claim.",
			Source:    "max over chunks of P(contradiction)",
			Direction: plumblinev1.Direction_DIRECTION_HIGHER_IS_UNCERTAIN,
		},
		{
			Name: "g_mean", Description: "The mean support over the scored claims.",
			Source: calVerT + ": mean over claims of max over passages",
		},
		{
			Name: "g_min", Description: "The support of the worst-grounded claim.",
			Source: calVerT + ": min over claims of max over passages",
		},
		{
			Name: "support_rate", Description: "The share of scored claims whose support reaches the threshold.",
			Source: "supported claims / scored claims", Unit: "share",
		},
	}
	for _, info := range infos {
		info.Family = "grounding"
		info.Range = &plumblinev1.Range{Min: proto.Float64(0), Max: proto.Float64(1)}
		info.Needs = []string{"evidence", "claims"}
		info.Cost = "verifier"
		if info.Unit == "" {
			info.Unit = "probability"
		}
		if info.Direction == plumblinev1.Direction_DIRECTION_UNSPECIFIED {
			info.Direction = plumblinev1.Direction_DIRECTION_HIGHER_IS_CONFIDENT
		}
	}
	return infos
}
