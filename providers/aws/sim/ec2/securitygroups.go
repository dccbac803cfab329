package ec2

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// inDirection returns the operation on the ingress or the egress rules of a group.
func inDirection[Out any](do func(*Tx, rulesInput, bool) (Out, error), egress bool) func(*Tx, rulesInput) (Out, error) {
	return func(t *Tx, in rulesInput) (Out, error) { return do(t, in, egress) }
}

type groupView struct {
	ID          string                      `xml:"groupId" filter:"group-id"`
	ARN         string                      `xml:"securityGroupArn"`
	Name        string                      `xml:"groupName" filter:"group-name"`
	Description string                      `xml:"groupDescription" filter:"description"`
	Owner       string                      `xml:"ownerId" filter:"owner-id"`
	VPC         string                      `xml:"vpcId" filter:"vpc-id"`
	Ingress     query.Items[permissionView] `xml:"ipPermissions" filter:"ip-permission."`
	Egress      query.Items[permissionView] `xml:"ipPermissionsEgress" filter:"egress.ip-permission."`
	Tags        query.Items[tag]            `xml:"tagSet"`
}

func (t *Tx) describeGroups(in struct {
	core.Selection
	GroupID   []string `q:"GroupId"`
	GroupName []string
}) (out struct {
	Groups    query.Items[groupView] `xml:"securityGroupInfo"`
	NextToken string                 `xml:"nextToken,omitempty"`
}, err error) {
	ids := in.GroupID
	for _, name := range in.GroupName {
		g, err := t.findGroup("", name)
		if err != nil {
			return out, err
		}
		ids = append(ids, g.ID)
	}
	groups := core.Description[*SecurityGroup, groupView]{Kind: groupKind, All: t.Groups, View: t.viewGroup}
	out.Groups, out.NextToken, err = groups.Page(t.Tx, ids, in.Selection)
	return out, err
}

func (t *Tx) viewGroup(g *SecurityGroup) groupView {
	return groupView{
		ID: g.ID, ARN: t.ARN("ec2", "security-group/"+g.ID), Name: g.Name, Description: g.description,
		Owner: t.Options.Account, VPC: g.VPC, Ingress: t.viewPermissions(g.Ingress), Egress: t.viewPermissions(g.Egress),
		Tags: t.tagSet(g.ID),
	}
}

func (t *Tx) createGroup(in struct {
	GroupName        string
	GroupDescription string
	VpcID            string `q:"VpcId"`
	TagSpecification []tagSpecification
}) (out struct {
	core.Done
	ID   string           `xml:"groupId"`
	ARN  string           `xml:"securityGroupArn"`
	Tags query.Items[tag] `xml:"tagSet"`
}, err error) {
	if in.VpcID == "" {
		in.VpcID = t.defaultVPC()
	}
	if err := t.checkNewGroup(in.GroupName, in.GroupDescription, in.VpcID); err != nil {
		return out, err
	}
	tags, err := parseTags("security-group", in.TagSpecification)
	if err != nil {
		return out, err
	}
	g := t.NewGroup(in.VpcID, in.GroupName, in.GroupDescription)
	t.SetTags(g.ID, tags)
	t.HideNew(g.ID)
	out.Return, out.ID, out.ARN, out.Tags = true, g.ID, t.ARN("ec2", "security-group/"+g.ID), t.tagSet(g.ID)
	return out, nil
}

func (t *Tx) checkNewGroup(name, description, vpc string) error {
	switch {
	case name == "":
		return core.MissingParameter("GroupName")
	case description == "":
		return core.MissingParameter("GroupDescription")
	case vpc == "":
		return core.Refuse("VPCIdNotSpecified", "No default VPC for this user")
	case len(name) > maxGroupText || !groupText.MatchString(name):
		return core.InvalidValue("Invalid value '%s' for groupName. Character sets beyond ASCII are not supported.", name)
	case strings.HasPrefix(name, "sg-"):
		return core.InvalidValue("Invalid value '%s' for groupName. Group names may not be in the format sg-*.", name)
	case len(description) > maxGroupText || !groupText.MatchString(description):
		return core.InvalidValue(
			"Invalid security group description. Valid descriptions are strings less than 256 characters " +
				"from the following set:  a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*")
	}
	if _, err := core.Find(vpcKind, t.VPCs, vpc); err != nil {
		return err
	}
	if t.GroupByName(name, vpc) != nil {
		return core.Refuse("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", name, vpc)
	}
	if len(t.Groups) >= t.Options.Quotas[core.QuotaGroups] {
		return core.Refuse("SecurityGroupLimitExceeded",
			"The maximum number of security groups for VPC '%s' has been reached.", vpc)
	}
	return nil
}

func (t *Tx) deleteGroup(in struct {
	GroupID   string `q:"GroupId"`
	GroupName string
}) (out struct {
	core.Done
	ID string `xml:"groupId"`
}, err error) {
	g, err := t.findGroup(in.GroupID, in.GroupName)
	if err != nil {
		return out, err
	}
	if g.Name == "default" {
		return out, core.Refuse("CannotDelete", `the specified group: "%s" name: "default" cannot be deleted by a user`, g.ID)
	}
	if t.groupInUse(g.ID) {
		return out, core.Refuse("DependencyViolation", "resource %s has a dependent object", g.ID)
	}
	delete(t.Groups, g.ID)
	t.RemoveRecords(g.ID)
	for _, r := range slices.Concat(g.Ingress, g.Egress) {
		t.RemoveRecords(r.id)
	}
	out.Return, out.ID = true, g.ID
	return out, nil
}

// groupInUse reports whether a network interface or a rule of another group refers to the group.
func (t *Tx) groupInUse(id string) bool {
	for _, n := range t.Interfaces {
		if slices.Contains(n.Groups, id) {
			return true
		}
	}
	refers := func(r *Rule) bool { return r.Group == id }
	for _, g := range t.Groups {
		if g.ID != id && (slices.ContainsFunc(g.Ingress, refers) || slices.ContainsFunc(g.Egress, refers)) {
			return true
		}
	}
	return false
}
