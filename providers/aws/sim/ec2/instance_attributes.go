package ec2

import (
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// booleanAttribute is a boolean in an element of its own.
type booleanAttribute struct{ Value *bool }

type textAttribute struct{ Value *string }

// modifyInstanceAttribute changes one attribute: the type, or one of the network.
func (t *Tx) modifyInstanceAttribute(in struct {
	InstanceID      string `q:"InstanceId"`
	Attribute       string
	Value           *string
	SourceDestCheck *booleanAttribute
	GroupID         []string `q:"GroupId"`
	InstanceType    *textAttribute
}) (core.Done, error) {
	if in.InstanceID == "" {
		return core.Done{}, core.MissingParameter("instanceId")
	}
	i, err := core.Find(InstanceKind, t.Instances, in.InstanceID)
	if err != nil {
		return core.Done{}, err
	}
	check := in.SourceDestCheck
	if in.Attribute == "sourceDestCheck" && in.Value != nil {
		check = &booleanAttribute{new(*in.Value == "true")}
	}
	changes := 0
	for _, set := range []bool{check != nil && check.Value != nil, len(in.GroupID) > 0, in.InstanceType != nil} {
		if set {
			changes++
		}
	}
	switch {
	case changes == 0:
		return core.Done{}, core.Refuse("InvalidParameterCombination", "No attributes specified.")
	case changes > 1:
		return core.Done{}, core.Refuse("InvalidParameterCombination", "Fields for multiple attribute types specified")
	case i.State == StateTerminated:
		return core.Done{}, core.Refuse("IncorrectInstanceState",
			"The instance '%s' is not in a state from which its attributes can be modified.", i.ID)
	case in.InstanceType != nil:
		return core.Done{Return: true}, t.changeType(i, in.InstanceType)
	case len(in.GroupID) > 0:
		return core.Done{Return: true}, t.changeGroups(i, in.GroupID)
	}
	if len(i.ENIs) > 1 {
		return core.Done{}, errSeveralInterfaces(i)
	}
	i.checkTraffic = *check.Value
	t.Primary(i).checkTraffic = *check.Value
	return core.Done{Return: true}, nil
}

func (t *Tx) changeType(i *Instance, kind *textAttribute) error {
	if i.State != StateStopped || kind.Value == nil {
		return core.Refuse("IncorrectInstanceState", "The instance '%s' is not in the 'stopped' state.", i.ID)
	}
	i.Kind = *kind.Value
	return nil
}

func (t *Tx) changeGroups(i *Instance, groups []string) error {
	if err := t.checkInterfaceGroups(groups, i.VPC); err != nil {
		return err
	}
	t.Primary(i).Groups = groups
	return nil
}

// checkInterfaceGroups rejects security groups that an interface in a VPC cannot have.
func (t *Tx) checkInterfaceGroups(groups []string, vpc string) error {
	for _, id := range groups {
		g, err := core.Find(groupKind, t.Groups, id)
		if err != nil {
			return err
		}
		if g.VPC != vpc {
			return core.Refuse("InvalidParameter", "Security group %s and subnet belong to different networks.", id)
		}
	}
	if limit := t.Options.Quotas[core.QuotaGroupsPerInterface]; len(groups) > limit {
		return core.Refuse("SecurityGroupsPerInterfaceLimitExceeded",
			"The maximum number of security groups per interface has been reached.")
	}
	return nil
}
