package steps

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// GroupCreation creates a security group with its rules.
type GroupCreation struct {
	Spec  groups.CreateOpts
	Rules []rules.CreateOpts
	// Handle is that of the new group.
	Handle plan.Handle
}

// Do implements plan.Step.
func (s GroupCreation) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	created, err := w.CreateGroup(ctx, s.Spec)
	if err != nil {
		return err
	}
	ids.Set(s.Handle, created.ID)
	return w.AddRules(ctx, created, s.Rules)
}

// RulesAddition adds rules to a security group.
type RulesAddition struct {
	Group api.SecurityGroup
	Rules []rules.CreateOpts
}

// Do implements plan.Step.
func (s RulesAddition) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.AddRules(ctx, s.Group, s.Rules)
}

// RulesRemoval removes rules of a security group, by its ID.
type RulesRemoval struct {
	Group string
	Rules []api.SecurityGroupRule
}

// Do implements plan.Step.
func (s RulesRemoval) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	for _, r := range s.Rules {
		if err := w.DeleteRule(ctx, s.Group, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// GroupDeletion deletes a security group, by its ID.
type GroupDeletion string

// Do implements plan.Step.
func (s GroupDeletion) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.DeleteGroup(ctx, string(s))
}

// PortAttachment adds a security group to a port.
type PortAttachment struct {
	Port  api.Port
	Group Reference
}

// Do implements plan.Step.
func (s PortAttachment) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	id, err := s.Group.Resolve(ids)
	if err != nil {
		return err
	}
	return w.ChangeGroups(ctx, s.Port, func(groups []string) []string {
		if slices.Contains(groups, id) {
			return groups
		}
		return append(slices.Clone(groups), id)
	})
}

// PortDetachment removes security groups from a port.
type PortDetachment struct {
	Port   api.Port
	Groups []string
}

// Do implements plan.Step.
func (s PortDetachment) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	err := w.ChangeGroups(ctx, s.Port, func(have []string) []string {
		return slices.DeleteFunc(slices.Clone(have), func(g string) bool { return slices.Contains(s.Groups, g) })
	})
	if err != nil {
		return err
	}
	return w.RemovePortTags(ctx, s.Port, s.Groups)
}
