package octavia

import (
	"cmp"
	"net/http"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
)

func (t *Tx) members() ([]*member, error) {
	p, err := t.pool(t.Call.Params["pool"])
	if err != nil {
		return nil, err
	}
	t.updateMemberStatus(p.members)
	return slices.Clone(p.members), nil
}

func (t *Tx) member() (*member, error) {
	members, err := t.members()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(members, func(m *member) bool { return m.ID == t.Call.Params["id"] }); i >= 0 {
		return members[i], nil
	}
	return nil, errMissing("Member", t.Call.Params["id"])
}

// updateMemberStatus sets the operating status of members: with a health monitor, a member is online while its server
// runs.
func (t *Tx) updateMemberStatus(members []*member) {
	running := map[string]bool{}
	for _, p := range t.Ports {
		if s := t.Servers[p.DeviceID]; s != nil && s.Status == neutron.StatusActive {
			for _, f := range p.FixedIPs {
				running[f.Address] = true
			}
		}
	}
	for _, m := range members {
		switch {
		case m.pool.monitor == nil:
			m.Operating = operatingNoMonitor
		case m.Provisioning == pendingCreate:
			m.Operating = operatingOffline
		case running[m.Address]:
			m.Operating = operatingOnline
		default:
			m.Operating = operatingError
		}
	}
}

type memberSettings struct {
	Name           opt[string]   `json:"name"`
	AdminStateUp   opt[bool]     `json:"admin_state_up"`
	Weight         opt[int]      `json:"weight"`
	Backup         opt[bool]     `json:"backup"`
	MonitorAddress opt[string]   `json:"monitor_address"`
	MonitorPort    opt[int]      `json:"monitor_port"`
	Tags           opt[[]string] `json:"tags"`
}

type memberSpec struct {
	memberSettings
	Address string      `json:"address"`
	Port    int         `json:"protocol_port"`
	Subnet  opt[string] `json:"subnet_id"`
	Project string      `json:"project_id"`
	Tenant  string      `json:"tenant_id"`
}

const defaultWeight = 1

func (in memberSettings) check() error {
	errs := []error{checkTexts(in.Name.v, "", in.Tags.v), checkBounds("weight", in.Weight.or(defaultWeight), 0, 256)}
	if in.MonitorPort.isSet && !in.MonitorPort.null {
		errs = append(errs, checkBounds("monitor_port", in.MonitorPort.v, 1, 65535))
	}
	if in.MonitorAddress.v != "" {
		errs = append(errs, checkIP("monitor_address", in.MonitorAddress.v))
	}
	return cmp.Or(errs...)
}

func checkIP(field, value string) error {
	if _, err := netip.ParseAddr(value); err != nil {
		return badField(field, value, "Value should be IPv4 or IPv6 format")
	}
	return nil
}

// checkReserved rejects the address of Nova's metadata service.
func (in *memberSpec) checkReserved() error {
	if in.Address == "169.254.169.254" {
		return core.Refuse(http.StatusBadRequest, "", "%s is not a valid option for member address", in.Address)
	}
	return nil
}

func (in *memberSpec) checkTypes() error {
	return cmp.Or(checkIP("address", in.Address), checkBounds("protocol_port", in.Port, 1, 65535), in.check())
}

func (m *member) apply(in memberSettings) { merge(m, &in) }

// addMember adds a new member to a pool. Like Octavia it does not check the subnet when a load balancer is created
// with its children.
func (t *Tx) addMember(p *pool, in memberSpec) (*member, error) {
	if err := in.checkReserved(); err != nil {
		return nil, err
	}
	for _, other := range p.members {
		if other.Address == in.Address && other.Port == in.Port && other.Provisioning != pendingDelete {
			return nil, core.Refuse(http.StatusConflict, "",
				"Another member on this pool is already using ip %s on protocol_port %d", in.Address, in.Port)
		}
	}
	m := &member{base: t.newBase(p.Project), Address: in.Address, Port: in.Port, pool: p}
	setDefaults(m)
	m.Operating = operatingNoMonitor
	if in.Subnet.v != "" {
		m.Subnet = &in.Subnet.v
	}
	m.apply(in.memberSettings)
	if err := checkOVNMember(m); err != nil {
		return nil, err
	}
	p.members = append(p.members, m)
	return m, nil
}

// checkSubnet checks the subnet of a member. The caller need not see it.
func (t *Tx) checkSubnet(in memberSpec) error {
	if id := in.Subnet.v; id != "" && t.Subnets[id] == nil {
		return errUnknown("Subnet", id)
	}
	return nil
}

// MemberCount returns the number of members of all pools.
func (t *Tx) MemberCount() int {
	n := 0
	for _, p := range t.Pools {
		n += len(p.members)
	}
	return n
}

func (t *Tx) createMember() (any, error) {
	in, err := core.Decode[memberSpec](t.Base(), "member")
	if err != nil {
		return nil, err
	}
	if err := in.checkTypes(); err != nil {
		return nil, err
	}
	if err := t.checkSubnet(in); err != nil {
		return nil, err
	}
	p, err := t.pool(t.Call.Params["pool"])
	if err != nil {
		return nil, err
	}
	if err := t.overQuota(core.QuotaMembers, "Member", t.MemberCount(), 1); err != nil {
		return nil, err
	}
	if err := t.checkMutable(p.balancer, p); err != nil {
		return nil, err
	}
	if err := cmp.Or(checkOVNFamily(p, in.Address), t.checkOVNSubnet(p, in)); err != nil {
		return nil, err
	}
	m, err := t.addMember(p, in)
	if err != nil {
		return nil, err
	}
	t.startChange(p.balancer, pendingUpdate, m.affected())
	return map[string]any{"member": m}, nil
}

func (m *member) validate(*Tx) error { return nil }

// batchUpdate replaces the members of a pool, or with additive_only adds and updates members.
// Address and port identify a member. Unset fields of an existing member are reset to their default, except
// name, administrative state and tags.
func (t *Tx) batchUpdate() (any, error) {
	p, err := t.pool(t.Call.Params["pool"])
	if err != nil {
		return nil, err
	}
	list, err := core.Decode[[]memberSpec](t.Base(), "members")
	if err != nil {
		return nil, err
	}
	if err := t.checkBatch(p, list); err != nil {
		return nil, err
	}
	stuck := hasDuplicates(list)
	additive := slices.Contains([]string{"true", "True", "1"}, t.Call.Query.Get("additive_only")) &&
		t.Options.Octavia() >= octaviaAdditiveOnly
	parts, kept := p.affected(), map[*member]bool{}
	for _, in := range list {
		m := p.memberAt(in.Address, in.Port)
		if m == nil {
			if m, err = t.addMember(p, in); err != nil {
				return nil, err
			}
		} else {
			m.reset()
			m.apply(in.memberSettings)
		}
		if !kept[m] {
			kept[m], parts = true, append(parts, m)
		}
	}
	for _, m := range p.members {
		if !kept[m] && !additive {
			m.Provisioning = pendingDelete
			parts = append(parts, m)
		}
	}
	t.startChange(p.balancer, pendingUpdate, parts)
	if stuck {
		t.changes[len(t.changes)-1].outcome = OutcomeStuck
	}
	return nil, nil
}

// hasDuplicates reports whether a batch names a member twice. Octavia does not check this: the change starts, and its
// worker then fails to plan it, so that the load balancer stays pending.
func hasDuplicates(list []memberSpec) bool {
	type key struct {
		address string
		port    int
	}
	seen := map[key]bool{}
	for _, in := range list {
		k := key{in.Address, in.Port}
		if seen[k] {
			return true
		}
		seen[k] = true
	}
	return false
}

// checkBatch validates a whole batch before any change. Octavia does not validate the subnets.
func (t *Tx) checkBatch(p *pool, list []memberSpec) error {
	for _, in := range list {
		if err := in.checkTypes(); err != nil {
			return err
		}
		m := &member{Address: in.Address, Port: in.Port, pool: p}
		m.apply(in.memberSettings)
		err := cmp.Or(in.checkReserved(), checkOVNFamily(p, in.Address), t.checkOVNSubnet(p, in), checkOVNMember(m))
		if err != nil {
			return err
		}
	}
	if err := t.overQuota(core.QuotaMembers, "Member", t.MemberCount()-len(p.members), len(list)); err != nil {
		return err
	}
	return t.checkMutable(p.balancer, p)
}

// checkOVNSubnet rejects a new member without a subnet whose address is not in the subnet of the VIP, as the driver's
// methods member_create and member_batch_update do. It does not check the members of a load balancer that is created
// with them.
func (t *Tx) checkOVNSubnet(p *pool, in memberSpec) error {
	ip, err := netip.ParseAddr(in.Address)
	if p.balancer.Provider != core.ProviderOVN || in.Subnet.v != "" || err != nil {
		return nil //nolint:nilerr // invalid addresses were rejected before
	}
	if s := t.Subnets[p.balancer.VIPSubnet]; s != nil && netip.MustParsePrefix(s.CIDR).Contains(ip) {
		return nil
	}
	return unsupported(core.ProviderOVN, "Subnet is required, or Loadbalancer associated with Pool must have a subnet, "+
		"for Member creation with OVN Provider Driver if it is not the same as LB VIP subnet")
}

func (p *pool) memberAt(address string, port int) *member {
	for _, m := range p.members {
		if m.Address == address && m.Port == port {
			return m
		}
	}
	return nil
}

// reset resets the fields that a batch update does not keep.
func (m *member) reset() {
	m.Weight, m.Backup, m.MonitorAddress, m.MonitorPort = defaultWeight, false, nil, nil
}
