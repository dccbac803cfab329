package sim

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

var groupKind = idKind{"sg", "InvalidGroup", "security group"}

type securityGroup struct {
	id, name, description, vpc string
	ingress, egress            []*rule
}

func securityGroupOperations() []operation {
	return []operation{
		read("DescribeSecurityGroups", (*tx).describeGroups),
		read("DescribeSecurityGroupRules", (*tx).describeRules),
		write("CreateSecurityGroup", (*tx).createGroup),
		write("DeleteSecurityGroup", (*tx).deleteGroup),
		write("AuthorizeSecurityGroupIngress", (*tx).authorizeIngress),
		write("RevokeSecurityGroupIngress", (*tx).revokeIngress),
		write("AuthorizeSecurityGroupEgress", (*tx).authorizeEgress),
		write("RevokeSecurityGroupEgress", (*tx).revokeEgress),
	}
}

type groupView struct {
	ID          string                      `xml:"groupId"`
	ARN         string                      `xml:"securityGroupArn"`
	Name        string                      `xml:"groupName"`
	Description string                      `xml:"groupDescription"`
	Owner       string                      `xml:"ownerId"`
	VPC         string                      `xml:"vpcId"`
	Ingress     query.Items[permissionView] `xml:"ipPermissions"`
	Egress      query.Items[permissionView] `xml:"ipPermissionsEgress"`
	Tags        query.Items[tag]            `xml:"tagSet"`
}

func (t *tx) describeGroups(in struct {
	selection
	GroupID   []string `q:"GroupId"`
	GroupName []string
}) (out struct {
	Groups    query.Items[groupView] `xml:"securityGroupInfo"`
	NextToken string                 `xml:"nextToken,omitempty"`
}, err error) {
	ids := in.GroupID
	for _, name := range in.GroupName {
		g := t.groupByName(name, t.defaultVPC())
		if g == nil {
			return out, refuse("InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC '%s'", name,
				t.defaultVPC())
		}
		ids = append(ids, g.id)
	}
	out.Groups, out.NextToken, err = description[*securityGroup, groupView]{groupKind, t.groups, ec2Pages, groupFields(t),
		func(g *securityGroup) groupView {
			return groupView{
				ID: g.id, ARN: t.arn("ec2", "security-group/"+g.id), Name: g.name, Description: g.description, Owner: t.o.Account,
				VPC: g.vpc, Ingress: t.viewPermissions(g.ingress), Egress: t.viewPermissions(g.egress), Tags: t.tagSet(g.id),
			}
		}}.page(t, ids, in.selection)
	return out, err
}

func groupFields(t *tx) fields[*securityGroup] {
	return func(g *securityGroup, name string) ([]string, bool) {
		if g == nil {
			g = &securityGroup{}
		}
		if rest, ok := strings.CutPrefix(name, "egress.ip-permission."); ok {
			return ruleValues(g.egress, rest)
		}
		if rest, ok := strings.CutPrefix(name, "ip-permission."); ok {
			return ruleValues(g.ingress, rest)
		}
		return oneOf(name, map[string]string{
			"group-id": g.id, "group-name": g.name, "vpc-id": g.vpc, "description": g.description, "owner-id": t.o.Account,
		})
	}
}

func ruleValues(rules []*rule, name string) (values []string, ok bool) {
	for _, r := range append(slices.Clone(rules), &rule{}) {
		v, known := map[string]string{
			"cidr": r.cidr4, "ipv6-cidr": r.cidr6, "group-id": r.group, "prefix-list-id": r.prefixList, "protocol": r.protocol,
			"from-port": strconv.Itoa(int(r.from)), "to-port": strconv.Itoa(int(r.to)), "user-id": "", "group-name": "",
		}[name]
		if !known {
			return nil, false
		}
		if r.id != "" {
			values = append(values, v)
		}
	}
	return values, true
}

// defaultVPC returns where groups are looked for by name alone; the simulated account has none unless the VPC is made
// so.
func (t *tx) defaultVPC() string {
	for _, v := range t.vpcs {
		if v.isDefault {
			return v.id
		}
	}
	return ""
}

func (t *tx) groupByName(name, vpc string) *securityGroup {
	for _, g := range t.groups {
		if g.name == name && g.vpc == vpc {
			return g
		}
	}
	return nil
}

// groupText is what EC2 allows in names and descriptions of security groups in a VPC.
var groupText = regexp.MustCompile(`^[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]*$`)

const maxGroupText = 255

func (t *tx) createGroup(in struct {
	GroupName        string
	GroupDescription string
	VpcID            string `q:"VpcId"`
	TagSpecification []tagSpecification
}) (out struct {
	done
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
	tags, err := tagsFor("security-group", in.TagSpecification)
	if err != nil {
		return out, err
	}
	g := &securityGroup{id: t.newID("sg"), name: in.GroupName, description: in.GroupDescription, vpc: in.VpcID}
	g.egress = []*rule{{id: t.newID("sgr"), protocol: allProtocols, from: -1, to: -1, cidr4: "0.0.0.0/0"}}
	t.groups[g.id] = g
	t.setTags(g.id, tags)
	t.hideNew(g.id)
	out.Return, out.ID, out.ARN, out.Tags = true, g.id, t.arn("ec2", "security-group/"+g.id), t.tagSet(g.id)
	return out, nil
}

func (t *tx) checkNewGroup(name, description, vpc string) error {
	switch {
	case name == "":
		return missingParameter("GroupName")
	case description == "":
		return missingParameter("GroupDescription")
	case vpc == "":
		return refuse("VPCIdNotSpecified", "No default VPC for this user")
	case len(name) > maxGroupText || !groupText.MatchString(name):
		return invalidValue("Invalid value '%s' for groupName. Character sets beyond ASCII are not supported.", name)
	case strings.HasPrefix(name, "sg-"):
		return invalidValue("Invalid value '%s' for groupName. Group names may not be in the format sg-*.", name)
	case len(description) > maxGroupText || !groupText.MatchString(description):
		return invalidValue("Invalid security group description. Valid descriptions are strings less than 256 characters " +
			"from the following set:  " +
			"a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*")
	}
	if _, err := find(vpcKind, t.vpcs, vpc); err != nil {
		return err
	}
	if t.groupByName(name, vpc) != nil {
		return refuse("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", name, vpc)
	}
	if len(t.groups) >= t.o.Quotas[QuotaGroups] {
		return refuse("SecurityGroupLimitExceeded", "The maximum number of security groups for VPC '%s' has been reached.",
			vpc)
	}
	return nil
}

// groupOf finds the group that a change names, by ID or, in a default VPC, by name.
func (t *tx) groupOf(id, name string) (*securityGroup, error) {
	if id == "" && name == "" {
		return nil, missingParameter("groupName or groupId")
	}
	if id != "" {
		return find(groupKind, t.groups, id)
	}
	if g := t.groupByName(name, t.defaultVPC()); g != nil {
		return g, nil
	}
	return nil, refuse("InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC '%s'", name,
		t.defaultVPC())
}

func (t *tx) deleteGroup(in struct {
	GroupID   string `q:"GroupId"`
	GroupName string
}) (out struct {
	done
	ID string `xml:"groupId"`
}, err error) {
	g, err := t.groupOf(in.GroupID, in.GroupName)
	if err != nil {
		return out, err
	}
	if g.name == "default" {
		return out, refuse("CannotDelete", `the specified group: "%s" name: "default" cannot be deleted by a user`, g.id)
	}
	if t.groupInUse(g.id) {
		return out, refuse("DependencyViolation", "resource %s has a dependent object", g.id)
	}
	delete(t.groups, g.id)
	t.removeRecords(g.id)
	for _, r := range slices.Concat(g.ingress, g.egress) {
		t.removeRecords(r.id)
	}
	out.Return, out.ID = true, g.id
	return out, nil
}

// groupInUse reports whether a network interface or a rule of another group refers to the group.
func (t *tx) groupInUse(id string) bool {
	for _, n := range t.interfaces {
		if slices.Contains(n.groups, id) {
			return true
		}
	}
	refers := func(r *rule) bool { return r.group == id }
	for _, g := range t.groups {
		if g.id != id && (slices.ContainsFunc(g.ingress, refers) || slices.ContainsFunc(g.egress, refers)) {
			return true
		}
	}
	return false
}
