package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// targetsShown is the maximum number of targets that a plan lists one by one.
const targetsShown = 10

// targetsUpdate returns the registrations and deregistrations of targets, if any. Draining ones count as
// absent.
func (d *differ) targetsUpdate(g reference, have model.TargetGroup, want model.DesiredGroup,
	after []plan.Ref) (plan.Change, bool) {
	join, leave := diffTargets(have.Targets, want.Targets)
	if len(join)+len(leave) == 0 {
		return plan.Change{}, false
	}
	return plan.Change{
		Ref: plan.Ref{Kind: kindTargets, Name: want.Name, Action: plan.Update},
		Fields: []plan.Field{{
			Name: "targets", Before: showTargets("leaving: ", leave), After: showTargets("joining: ", join),
		}},
		After:      slices.Clone(after),
		Membership: true,
		Step:       targetsUpdate{g, join, leave},
	}, true
}

// targetsUpdate registers targets with a target group, and removes others.
type targetsUpdate struct {
	group       reference
	join, leave []model.Target
}

// Do implements plan.Step.
func (s targetsUpdate) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	arn, err := s.group.resolve(ids)
	if err != nil {
		return err
	}
	return w.SetTargets(ctx, arn, s.join, s.leave)
}

// diffTargets returns which targets to register and which to remove, sorted.
func diffTargets(have model.Health, want []model.DesiredTarget) (join, leave []model.Target) {
	keep := make(map[model.Target]bool, len(want))
	for _, w := range want {
		keep[w.Target] = true
		if state, ok := have[w.Target]; !w.Keep && (!ok || state == types.TargetHealthStateEnumDraining) {
			join = append(join, w.Target)
		}
	}
	for target, state := range have {
		if !keep[target] && state != types.TargetHealthStateEnumDraining {
			leave = append(leave, target)
		}
	}
	for _, list := range [][]model.Target{join, leave} {
		sorting.Func(list, func(a, b model.Target) int { return strings.Compare(a.ID, b.ID) })
	}
	return join, leave
}

// showTargets formats targets after a label: one by one, or counted if there are many.
func showTargets(label string, targets []model.Target) string {
	if len(targets) == 0 {
		return ""
	}
	if len(targets) > targetsShown {
		return fmt.Sprintf("%s%d targets", label, len(targets))
	}
	shown := api.Convert(targets, func(t model.Target) string { return fmt.Sprintf("%s:%d", t.ID, t.Port) })
	return label + strings.Join(shown, ", ")
}
