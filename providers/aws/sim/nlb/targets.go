package nlb

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type targetInput struct {
	ID               string `q:"Id"`
	Port             *int32
	AvailabilityZone string
}

type targetsInput struct {
	targetGroupRef
	Targets []targetInput
	Include []string
}

// registeredTargets returns the targets that were not deregistered.
func (t *Tx) registeredTargets(g *targetGroup) []*target {
	return slices.DeleteFunc(slices.Clone(g.targets), func(x *target) bool { return !x.drained.IsZero() })
}

func (t *Tx) registerTargets(g *targetGroup, in targetsInput) (core.Nothing, error) {
	if err := t.checkTargets(g, in.Targets); err != nil {
		return core.Nothing{}, err
	}
	added := g.unregistered(in.Targets)
	if len(t.registeredTargets(g))+len(added) > t.Options.Quotas[core.QuotaTargetsPerGroup] {
		return core.Nothing{}, core.Refuse("TooManyTargets",
			"The maximum number of targets for target group '%s' has been reached",
			g.arn)
	}
	for _, arn := range t.balancersOf(g.arn) {
		if err := t.checkTargetQuota(arn, added); err != nil {
			return core.Nothing{}, err
		}
	}
	for _, x := range in.Targets {
		old := g.find(x)
		if old == nil {
			g.targets = append(g.targets, &target{id: x.ID, port: g.portOf(x), zone: x.AvailabilityZone, registered: t.Now})
		} else if !old.drained.IsZero() {
			old.drained, old.registered = time.Time{}, t.Now
		}
	}
	return core.Nothing{}, nil
}

// unregistered returns the targets of a request that would be new registrations.
func (g *targetGroup) unregistered(targets []targetInput) []targetInput {
	return slices.DeleteFunc(slices.Clone(targets), func(x targetInput) bool {
		old := g.find(x)
		return old != nil && old.drained.IsZero()
	})
}

// checkTargetQuota rejects more targets than a load balancer may have in any zone. Each registration counts.
func (t *Tx) checkTargetQuota(balancer string, added []targetInput) error {
	count := map[string]int{}
	counted := map[string]bool{}
	for _, l := range t.listenersOf(balancer) {
		for _, arn := range l.targetGroups() {
			if !counted[arn] {
				counted[arn] = true
				for _, x := range t.registeredTargets(t.targetGroups[arn]) {
					count[t.zoneOf(x.id)]++
				}
			}
		}
	}
	for _, x := range added {
		count[t.zoneOf(x.ID)]++
	}
	for _, zone := range core.SortedIDs(count) {
		if count[zone] > t.Options.Quotas[core.QuotaTargetsPerBalancer] {
			return core.Refuse("TooManyTargets",
				"The maximum number of targets per Availability Zone for load balancer '%s' has "+
					"been reached in zone '%s'", balancer, zone)
		}
	}
	return nil
}

// zoneOf returns the zone of a target; targets outside the VPC are in all zones.
func (t *Tx) zoneOf(id string) string {
	if n := t.InterfaceOf(id); n != nil {
		return n.Zone
	}
	return "all"
}

func (g *targetGroup) portOf(x targetInput) int32 {
	if x.Port != nil {
		return *x.Port
	}
	return g.port
}

func (g *targetGroup) find(x targetInput) *target {
	for _, old := range g.targets {
		if old.id == x.ID && old.port == g.portOf(x) {
			return old
		}
	}
	return nil
}

// checkTargets rejects a request if any of its targets is invalid.
func (t *Tx) checkTargets(g *targetGroup, targets []targetInput) error {
	rejected := map[string][]string{}
	for _, x := range targets {
		if g.targetType == "ip" {
			if err := t.checkIPTarget(g, x); err != nil {
				return err
			}
			continue
		}
		if ec2.InstanceKind.Check(x.ID) != nil {
			return core.Validation("Instance ID '%s' is not valid", x.ID)
		}
		reason := t.rejectionOf(g, t.Instances[x.ID])
		rejected[reason] = append(rejected[reason], "'"+x.ID+"'")
	}
	for _, reason := range []string{reasonOtherVPC, reasonNotRunning, reasonNoPrimaryIPv6} {
		ids := rejected[reason]
		if reason == reasonOtherVPC {
			reason += " '" + g.VPC + "'"
		}
		if len(ids) > 0 {
			return core.Refuse("InvalidTarget", "The following targets %s: %s", reason, strings.Join(ids, ", "))
		}
	}
	return nil
}

// The reasons to reject an instance as a target. The user guide has the last one in "Register targets for your Network
// Load Balancer".
const (
	reasonOtherVPC      = "are not in the target group VPC"
	reasonNotRunning    = "are not in a running state and cannot be registered"
	reasonNoPrimaryIPv6 = "cannot be used with this IPv6 target group because of missing primary IPv6 addresses"
)

// rejectionOf returns the reason why an instance cannot be a target of a group, empty if it can.
func (t *Tx) rejectionOf(g *targetGroup, i *ec2.Instance) string {
	switch {
	case i == nil || i.VPC != g.VPC:
		return reasonOtherVPC
	case t.StateOf(i) != ec2.StateRunning:
		return reasonNotRunning
	case g.addressType == addressTypeIPv6 && !t.Primary(i).PrimaryIPv6:
		return reasonNoPrimaryIPv6
	}
	return ""
}

func (t *Tx) checkIPTarget(g *targetGroup, x targetInput) error {
	ip, err := netip.ParseAddr(x.ID)
	if err != nil {
		return core.Validation("The IP address '%s' is not a valid IP address", x.ID)
	}
	if ip.Is4() != (g.addressType == addressTypeIPv4) {
		return core.Refuse("InvalidTarget", "The IP address '%s' does not match the IP address type '%s' of the target group",
			x.ID, g.addressType)
	}
	v := t.VPCs[g.VPC]
	if v.CIDR.Contains(ip) || v.CIDR6.Contains(ip) {
		return nil
	}
	if !ip.IsPrivate() {
		return core.Refuse("InvalidTarget", "The IP address '%s' is not in a private range", x.ID)
	}
	if x.AvailabilityZone != "all" {
		return core.Refuse("InvalidTarget",
			"You must specify an Availability Zone for the IP address '%s', which is outside "+
				"the VPC", x.ID)
	}
	return nil
}

// deregisterTargets starts draining. Unregistered targets are not an error.
func (t *Tx) deregisterTargets(g *targetGroup, in targetsInput) (core.Nothing, error) {
	for _, x := range in.Targets {
		// Without a port all registrations of the target end.
		for _, old := range g.targets {
			if old.id == x.ID && (x.Port == nil || old.port == *x.Port) && old.drained.IsZero() {
				old.drained = t.Now.Add(t.drainTime(g))
			}
		}
	}
	g.targets = slices.DeleteFunc(g.targets, func(x *target) bool { return t.isDrained(x) })
	return core.Nothing{}, nil
}

func (t *Tx) drainTime(g *targetGroup) time.Duration {
	if len(t.balancersOf(g.arn)) == 0 {
		return 0
	}
	delay, err := strconv.Atoi(g.attributes[deregistrationDelay])
	if err != nil {
		return 0
	}
	return min(time.Duration(delay)*time.Second, t.Options.DrainTime)
}

func (t *Tx) isDrained(x *target) bool { return !x.drained.IsZero() && !t.Now.Before(x.drained) }

type targetView struct {
	ID   string `xml:"Id"`
	Port int32  `xml:"Port"`
	Zone string `xml:"AvailabilityZone,omitempty"`
}

type healthView struct {
	State       string `xml:"State"`
	Reason      string `xml:"Reason,omitempty"`
	Description string `xml:"Description,omitempty"`
}

type targetHealthView struct {
	Target targetView `xml:"Target"`
	Port   string     `xml:"HealthCheckPort,omitempty"`
	Health healthView `xml:"TargetHealth"`
}

func (t *Tx) describeTargetHealth(g *targetGroup, in targetsInput) (out struct {
	Health query.Members[targetHealthView] `xml:"TargetHealthDescriptions"`
}, err error) {
	g.targets = slices.DeleteFunc(g.targets, func(x *target) bool { return t.isDrained(x) })
	shown := g.targets
	if len(in.Targets) > 0 {
		shown = nil
		for _, x := range in.Targets {
			if old := g.find(x); old != nil {
				shown = append(shown, old)
				continue
			}
			out.Health.Member = append(out.Health.Member, targetHealthView{
				Target: targetView{ID: x.ID, Port: g.portOf(x)},
				Health: healthView{"unused", "Target.NotRegistered", "Target is not registered to the target group"},
			})
		}
	}
	reach := t.groupReach(g)
	for _, x := range shown {
		v := targetHealthView{Target: targetView{x.id, x.port, x.zone}, Port: g.check.HealthCheckPort,
			Health: t.health(g, x, reach)}
		if v.Port == "traffic-port" {
			v.Port = strconv.Itoa(int(x.port))
		}
		out.Health.Member = append(out.Health.Member, v)
	}
	return out, nil
}

// groupReach returns the reach of the load balancer that forwards to a target group, nil if there is none.
func (t *Tx) groupReach(g *targetGroup) *reach {
	if arns := t.balancersOf(g.arn); len(arns) > 0 {
		return t.newReach(t.balancers[arns[0]], g)
	}
	return nil
}

// health returns the current health of a target. A running instance passes its checks, unless SetHealth made
// it fail or no security group allows them.
func (t *Tx) health(g *targetGroup, x *target, reach *reach) healthView {
	i := t.Instances[x.id]
	switch {
	case !x.drained.IsZero():
		return healthView{"draining", "Target.DeregistrationInProgress", "Target deregistration is in progress"}
	case reach == nil:
		return healthView{"unused", "Target.NotInUse",
			"Target group is not configured to receive traffic from the load balancer"}
	case i != nil && t.StateOf(i) != ec2.StateRunning:
		return healthView{"unused", "Target.InvalidState", "Target is in the " + t.StateOf(i) + " state"}
	case t.Now.Before(later(x.registered, g.usedSince).Add(t.Options.HealthTime)):
		return healthView{"initial", "Elb.RegistrationInProgress", "Target registration is in progress"}
	case len(t.Unhealthy) > 0 && t.Unhealthy[t.NodeOf(x.id)], !reach.includes(x):
		return healthView{"unhealthy", "Target.FailedHealthChecks", "Health checks failed"}
	}
	return healthView{State: "healthy"}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// RemoveInstance removes a terminated instance from all target groups.
func (t *Tx) RemoveInstance(id string) {
	for _, g := range t.targetGroups {
		g.targets = slices.DeleteFunc(g.targets, func(x *target) bool { return x.id == id })
	}
}
