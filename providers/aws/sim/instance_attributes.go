package sim

// booleanAttribute is a boolean in an attribute of its own, as EC2 sends them.
type booleanAttribute struct{ Value *bool }

type textAttribute struct{ Value *string }

// modifyInstanceAttribute knows the attributes that belong to the network. One call changes one.
func (t *tx) modifyInstanceAttribute(in struct {
	InstanceID      string `q:"InstanceId"`
	Attribute       string
	Value           *string
	SourceDestCheck *booleanAttribute
	GroupID         []string `q:"GroupId"`
	InstanceType    *textAttribute
}) (done, error) {
	if in.InstanceID == "" {
		return done{}, missingParameter("instanceId")
	}
	i, err := find(instanceKind, t.instances, in.InstanceID)
	if err != nil {
		return done{}, err
	}
	check := in.SourceDestCheck
	if in.Attribute == "sourceDestCheck" && in.Value != nil {
		value := *in.Value == "true"
		check = &booleanAttribute{&value}
	}
	changes := 0
	for _, set := range []bool{check != nil && check.Value != nil, len(in.GroupID) > 0, in.InstanceType != nil} {
		if set {
			changes++
		}
	}
	switch {
	case changes == 0:
		return done{}, refuse("InvalidParameterCombination", "No attributes specified.")
	case changes > 1:
		return done{}, refuse("InvalidParameterCombination", "Fields for multiple attribute types specified")
	case i.state == stateTerminated:
		return done{}, refuse("IncorrectInstanceState",
			"The instance '%s' is not in a state from which its attributes can be modified.", i.id)
	case in.InstanceType != nil:
		return done{true}, t.changeType(i, in.InstanceType)
	case len(in.GroupID) > 0:
		return done{true}, t.changeGroups(i, in.GroupID)
	}
	if len(i.enis) > 1 {
		return done{}, refuse("InvalidInstanceID", "There are multiple interfaces attached to instance '%s'. "+
			"Please specify an interface ID for the operation instead.", i.id)
	}
	i.checkTraffic = *check.Value
	t.primary(i).checkTraffic = *check.Value
	return done{true}, nil
}

func (t *tx) changeType(i *instance, kind *textAttribute) error {
	if i.state != stateStopped || kind.Value == nil {
		return refuse("IncorrectInstanceState", "The instance '%s' is not in the 'stopped' state.", i.id)
	}
	i.kind = *kind.Value
	return nil
}

func (t *tx) changeGroups(i *instance, groups []string) error {
	if err := t.checkInterfaceGroups(groups, i.vpc); err != nil {
		return err
	}
	t.primary(i).groups = groups
	return nil
}

// checkInterfaceGroups refuses security groups that an interface in a VPC cannot have.
func (t *tx) checkInterfaceGroups(groups []string, vpc string) error {
	for _, id := range groups {
		g, err := find(groupKind, t.groups, id)
		if err != nil {
			return err
		}
		if g.vpc != vpc {
			return refuse("InvalidParameter", "Security group %s and subnet belong to different networks.", id)
		}
	}
	if limit := t.o.Quotas[QuotaGroupsPerInterface]; len(groups) > limit {
		return refuse("SecurityGroupsPerInterfaceLimitExceeded",
			"The maximum number of security groups per interface has been reached.")
	}
	return nil
}
