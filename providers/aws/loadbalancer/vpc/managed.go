package vpc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// The kinds of a security group and its tags in plans.
const (
	KindGroup     = "security group"
	kindGroupTags = "tags of security group"
)

// ManagedGroup is the security group that is created for one load balancer.
type ManagedGroup struct {
	// Name and Description are immutable. The name is deterministic and unique in the VPC.
	Name, Description string
	// Tags are the desired tags, in addition to those of other clients, of package tags.
	Tags map[string]string
	// Rules are exactly the desired ingress rules: others are removed.
	Rules []Rule
	// Kept are rules that stay although they are not among Rules.
	Kept Kept `json:"-"`
	// Handle is the handle of the ID when the group is created.
	Handle plan.Handle
}

// ManagedGroupChanges plans the changes to the desired group, and returns its reference. An error of class
// Invalid means that the group of that name is another cluster's.
func (s *GroupStore) ManagedGroupChanges(have Groups, want ManagedGroup, after []plan.Ref) ([]plan.Change, GroupRef,
	error) {
	ref := GroupRef{Handle: want.Handle, Name: want.Name}
	group, ok := have.Named(want.Name)
	if !ok {
		creation := s.groupCreate(want, after)
		changes := []plan.Change{creation}
		if len(want.Rules) > 0 {
			changes = append(changes, s.groupAuthorize(want.Name, ref, want.Rules, []plan.Ref{creation.Ref}))
		}
		return changes, ref, nil
	}
	if s.options.Cluster.Foreign(group.Tags) {
		return nil, ref, refuseGroup(group)
	}
	ref.ID = group.ID
	var changes []plan.Change
	changes = append(changes, s.groupTagChanges(group, want, after)...)
	authorize, revoke := diffRules(want.Rules, group.Rules)
	revoke = difference(revoke, want.Kept.rules(group, revoke))
	removalAfter := after
	if len(authorize) > 0 {
		change := s.groupAuthorize(want.Name, ref, authorize, after)
		changes = append(changes, change)
		removalAfter = []plan.Ref{change.Ref}
	}
	if len(revoke) > 0 {
		change := s.groupRevoke(group, revoke, "only the rules of the Service are kept", removalAfter)
		declareClosing(&change, ruleDiff{group: group, authorize: authorize, revoke: revoke, used: true, own: true}.closing())
		changes = append(changes, change)
	}
	return changes, ref, nil
}

func refuseGroup(group Group) error {
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "security group " + group.Name,
		Err: fmt.Errorf("%s has the tag of another cluster and is left alone: delete it if that cluster no longer exists",
			group)}
}

func (s *GroupStore) groupCreate(want ManagedGroup, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: KindGroup, Name: want.Name, Action: plan.Create},
		Fields: []plan.Field{{Name: "description", After: want.Description}, {Name: "tags", After: plan.ShowMap(want.Tags)}},
		After:  slices.Clone(after),
		Do: func(ctx context.Context, ids *plan.Handles) error {
			id, err := s.create(ctx, want)
			if err == nil {
				ids.Set(want.Handle, id)
			}
			return err
		},
	}
}

// create creates a group. If one of that name exists and is not another cluster's, an earlier call created
// it, and its reply was lost.
func (s *GroupStore) create(ctx context.Context, want ManagedGroup) (string, error) {
	out, err := s.options.API.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName: &want.Name, Description: &want.Description, VpcId: &s.options.VPC,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup,
			Tags: api.EC2Tags(want.Tags)}},
	})
	if err = awserr.Wrap("CreateSecurityGroup", err); err == nil {
		id := aws.ToString(out.GroupId)
		s.groups.Create(id, Group{ID: id, Name: want.Name, Description: want.Description, Tags: want.Tags})
		return id, nil
	}
	s.markUncertain()
	if !cloudapi.Is(err, cloudapi.AlreadyExists) {
		return "", err
	}
	if readErr := s.readNamed(ctx, want.Name); readErr != nil {
		return "", fmt.Errorf("%w; reading it failed: %w", err, readErr)
	}
	found := s.groups.Lookup(want.Name)
	switch {
	case len(found) == 0:
		// EC2 does not show it yet
		return "", &cloudapi.Error{Class: cloudapi.Conflict, Operation: "CreateSecurityGroup", Err: err}
	case s.options.Cluster.Foreign(found[0].Tags):
		return "", refuseGroup(found[0])
	}
	return found[0].ID, nil
}

// groupTagChanges plans the tags that are missing or differ, and the removal of tags that the Service no longer sets.
func (s *GroupStore) groupTagChanges(group Group, want ManagedGroup, after []plan.Ref) []plan.Change {
	set, surplus := tags.Diff(group.Tags, want.Tags)
	if len(surplus) == 0 && onlyMarks(group.Tags, set) {
		return nil
	}
	var changes []plan.Change
	if len(set) > 0 {
		changes = append(changes, plan.Change{
			Ref:    plan.Ref{Kind: kindGroupTags, Name: want.Name, Action: plan.Update},
			Fields: []plan.Field{{Name: "tags", After: plan.ShowMap(set)}},
			Mark:   true,
			After:  slices.Clone(after),
			Do:     func(ctx context.Context, _ *plan.Handles) error { return s.tag(ctx, group.ID, set) },
		})
	}
	if len(surplus) > 0 {
		changes = append(changes, plan.Change{
			Ref:    plan.Ref{Kind: kindGroupTags, Name: want.Name, Action: plan.Delete},
			Fields: []plan.Field{{Name: "tags", Before: strings.Join(surplus, ", ")}},
			Mark:   true,
			After:  slices.Clone(after),
			Do:     func(ctx context.Context, _ *plan.Handles) error { return s.untag(ctx, group.ID, surplus) },
		})
	}
	return changes
}

// onlyMarks reports whether the only missing tags are marks that earlier managers never set on a security group. They
// are added together with the next change.
func onlyMarks(have, set map[string]string) bool {
	for key := range set {
		_, exists := have[key]
		if exists || key != names.ServiceTag && key != names.ClusterUIDTag && key != tags.ExtraTag {
			return false
		}
	}
	return true
}

func (s *GroupStore) groupAuthorize(name string, ref GroupRef, rules []Rule, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: KindRules, Name: name, Action: plan.Create},
		Fields: []plan.Field{{Name: fieldIngress, After: showRules(rules)}},
		After:  slices.Clone(after),
		Do: func(ctx context.Context, ids *plan.Handles) error {
			id, err := ref.Resolve(ids)
			if err != nil {
				return err
			}
			return s.authorize(ctx, id, rules)
		},
	}
}

func (s *GroupStore) groupRevoke(group Group, rules []Rule, reason string, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: KindRules, Name: group.Name, Action: plan.Delete},
		Fields: []plan.Field{{Name: fieldIngress, Before: showRules(rules)}},
		Reason: reason,
		After:  slices.Clone(after),
		Do:     func(ctx context.Context, _ *plan.Handles) error { return s.revoke(ctx, group.ID, rules) },
	}
}

// GroupDeleteChanges plans the deletion of a group that was created for a load balancer, after the rules of other
// groups that allow its traffic to nodes. Other rules that refer to it stay. While they exist or network interfaces use
// the group, the deletion fails with an error of class Conflict with the time of the retry: no worker waits for it.
//
// While another load balancer uses the group, it stays with all rules that refer to it, and is an orphan: then there
// are no changes, and a warning.
func (s *GroupStore) GroupDeleteChanges(have Groups, group Group, after []plan.Ref) (changes []plan.Change,
	warning string) {
	if have.InUse(group.ID) {
		return nil, fmt.Sprintf("security group %s stays, because another load balancer uses it: delete it when none does",
			group)
	}
	deletionAfter := slices.Clone(after)
	for _, other := range have.All() {
		var referring []Rule
		for _, r := range other.Rules {
			if r.SourceGroup == group.ID && other.AllowsLoadBalancer(r) {
				referring = append(referring, r)
			}
		}
		if len(referring) == 0 {
			continue
		}
		change := plan.Change{
			Ref:    plan.Ref{Kind: KindRules, Name: other.String() + " from " + group.Name, Action: plan.Delete},
			ID:     RulesID(other.ID, group.ID),
			Fields: []plan.Field{{Name: fieldIngress, Before: showRules(referring)}},
			Reason: "they refer to a security group that is deleted",
			After:  slices.Clone(after),
			Do:     func(ctx context.Context, _ *plan.Handles) error { return s.revoke(ctx, other.ID, referring) },
		}
		changes = append(changes, change)
		deletionAfter = append(deletionAfter, change.Ref)
	}
	return append(changes, plan.Change{
		Ref:   plan.Ref{Kind: KindGroup, Name: group.Name, Action: plan.Delete},
		ID:    group.ID,
		After: deletionAfter,
		Do:    func(ctx context.Context, _ *plan.Handles) error { return s.delete(ctx, group) },
	}), ""
}

// delete deletes a group. If it is still in use, it searches once for rules that the snapshot lacks.
func (s *GroupStore) delete(ctx context.Context, group Group) error {
	err := s.deleteOnce(ctx, group.ID)
	if !cloudapi.Is(err, cloudapi.Conflict) {
		return err
	}
	referring, readErr := s.describe(ctx, inVPC(s.options.VPC), api.Filter("ip-permission.group-id", group.ID))
	if readErr != nil {
		return readErr
	}
	var foreignRules []string
	for _, other := range referring {
		if other.ID == group.ID {
			continue
		}
		var ownRules []Rule
		for _, r := range other.Rules {
			switch {
			case r.SourceGroup != group.ID:
			case other.AllowsLoadBalancer(r):
				ownRules = append(ownRules, r)
			default:
				foreignRules = append(foreignRules, other.String()+": "+r.String())
			}
		}
		if err := s.revoke(ctx, other.ID, ownRules); err != nil {
			return err
		}
	}
	if len(foreignRules) == 0 && len(referring) > 0 {
		err = s.deleteOnce(ctx, group.ID)
	}
	if cloudapi.Is(err, cloudapi.Conflict) {
		return inUseError(group, foreignRules, s.releasePause(group.ID), err)
	}
	return err
}

// releasePause returns the pause before the next attempt to delete a group that is still in use.
func (s *GroupStore) releasePause(id string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Clock.Now()
	since, ok := s.releasing[id]
	if !ok {
		since = now
		s.releasing[id] = now
	}
	return min(max(now.Sub(since), minReleasePause), maxReleasePause)
}

func (s *GroupStore) deleteOnce(ctx context.Context, id string) error {
	_, err := s.options.API.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
	err = awserr.Wrap("DeleteSecurityGroup", err)
	switch {
	case err == nil || awserr.Is(err, codeNoSuchGroup):
		s.forget(id)
		return nil
	case !cloudapi.Is(err, cloudapi.Conflict): // EC2 reported that nothing was changed
		s.markUncertain()
	}
	return err
}

func inUseError(group Group, foreignRules []string, pause time.Duration, err error) error {
	slices.Sort(foreignRules)
	reason := "the network interfaces of the load balancer are released a while after it is deleted"
	if len(foreignRules) > 0 {
		reason = "rules of other groups refer to it, remove them: " + strings.Join(foreignRules, "; ")
	}
	return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "DeleteSecurityGroup", RetryAfter: pause,
		Err: fmt.Errorf("security group %s is still in use (%s) and is tried again: %w", group, reason, err)}
}
