package sim

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// instanceTypes is the cloud's catalog. The first is the default.
func instanceTypes() []api.InstanceType {
	return []api.InstanceType{
		{Name: "fake.small", CPUs: 2, MemoryMB: 4096},
		{Name: "fake.medium", CPUs: 4, MemoryMB: 8192},
		{Name: "fake.large", CPUs: 8, MemoryMB: 16384},
	}
}

func (t *tx) instanceByName(name string) *instance {
	for _, i := range t.Instances {
		if i.Name == name {
			return i
		}
	}
	return nil
}

// launch starts machines, all or none. An existing name returns the existing machine, so that a request with
// a lost reply can be repeated.
func (t *tx) launch(specs []api.InstanceSpec) ([]api.Instance, error) {
	l := t.newLaunch()
	instances := make([]*instance, 0, len(specs))
	for _, spec := range specs {
		i, err := l.prepare(spec)
		if err != nil {
			return nil, err
		}
		instances = append(instances, i)
	}
	if err := t.withinQuota(quotaInstances, len(l.created)); err != nil {
		return nil, err
	}
	// Machines with an ID come first, so that their IDs are not chosen for others.
	sorting.StableFunc(l.created, func(a, b *instance) int { return cmp.Compare(b.ID, a.ID) })
	for _, i := range l.created {
		for i.ID == "" || t.Instances[i.ID] != nil {
			i.ID = t.newID("i") // skips IDs of adopted machines
		}
		t.Instances[i.ID] = i
		t.markChanged()
	}
	out := make([]api.Instance, 0, len(instances))
	for _, i := range instances {
		out = append(out, t.renderInstance(i))
	}
	return out, nil
}

// launch is one call of launch: it prepares all instances before it creates the first.
type launch struct {
	*tx
	byName             map[string]*instance
	internal, external *allocator
	created            []*instance
	// adoptedIDs are the IDs of machines that this call adopts.
	adoptedIDs map[string]bool
}

func (t *tx) newLaunch() *launch {
	l := &launch{
		tx: t, byName: make(map[string]*instance, len(t.Instances)), adoptedIDs: map[string]bool{},
		internal: newAllocator(), external: newAllocator(),
	}
	for _, i := range t.Instances {
		l.byName[i.Name] = i
		l.internal.markUsed(i.InternalAddresses...)
		l.external.markUsed(i.ExternalAddresses...)
	}
	return l
}

func (l *launch) prepare(spec api.InstanceSpec) (*instance, error) {
	if err := l.validate(spec); err != nil {
		return nil, err
	}
	if have := l.byName[spec.Name]; have != nil {
		if field := contradiction(spec, have.Instance); field != "" {
			return nil, refuse(api.CodeAlreadyExists, "instance %q exists with another %s", spec.Name, field)
		}
		return have, nil
	}
	if spec.ID != "" && (l.Instances[spec.ID] != nil || l.adoptedIDs[spec.ID]) {
		return nil, refuse(api.CodeAlreadyExists, "instance ID %q is taken", spec.ID)
	}
	i := &instance{Instance: api.Instance{
		ID: spec.ID, Name: spec.Name, Zone: spec.Zone, Type: spec.Type, State: api.StateRunning,
		InternalAddresses: spec.InternalAddresses, ExternalAddresses: spec.ExternalAddresses,
		Labels: spec.Labels, LaunchedAt: l.now.UTC(),
	}}
	if i.Zone == "" {
		i.Zone = l.rules.zones[(len(l.Instances)+len(l.created))%len(l.rules.zones)]
	}
	if i.Type == "" {
		i.Type = instanceTypes()[0].Name
	}
	var err error
	if i.InternalAddresses, err = l.addresses(l.internal, l.rules.machines, spec.InternalAddresses); err != nil {
		return nil, err
	}
	if i.ExternalAddresses, err = l.addresses(l.external, l.rules.external, spec.ExternalAddresses); err != nil {
		return nil, err
	}
	l.byName[i.Name] = i
	l.adoptedIDs[i.ID] = i.ID != ""
	l.created = append(l.created, i)
	return i, nil
}

// addresses returns the addresses of the request, or allocates one of each family from the cloud's ranges. A
// machine that runs outside of the cloud and is adopted (a node of kind) has its own; outside the cloud's
// ranges they may be shared, because nodes on a laptop share the loopback.
func (l *launch) addresses(free *allocator, pool ranges, requested []string) ([]string, error) {
	if len(requested) == 0 {
		var out []string
		for _, family := range []string{familyIPv4, familyIPv6} {
			if !pool.has(family) {
				continue
			}
			ip, err := free.allocate(pool, family, "instances")
			if err != nil {
				return nil, err
			}
			out = append(out, ip)
		}
		return out, nil
	}
	addrs, err := parseAddresses(requested)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(addrs))
	for _, a := range addrs {
		if pool.contains(a) && free.used[a] {
			return nil, refuse(api.CodeInUse, "address %s belongs to another instance", a)
		}
		free.used[a] = true
		out = append(out, a.String())
	}
	return out, nil
}

// parseAddresses sorts IPv4 before IPv6, and keeps the order within a family.
func parseAddresses(list []string) ([]netip.Addr, error) {
	out := make([]netip.Addr, 0, len(list))
	for _, s := range list {
		a, err := netip.ParseAddr(s)
		if err != nil || a.Zone() != "" {
			return nil, invalid("%q is not an IP address", s)
		}
		a = a.Unmap()
		if slices.Contains(out, a) {
			return nil, invalid("address %s is given twice", a)
		}
		out = append(out, a)
	}
	sorting.StableFunc(out, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return out, nil
}

func (l *launch) validate(spec api.InstanceSpec) error {
	if problems := validation.IsDNS1123Subdomain(spec.Name); len(problems) > 0 {
		return invalid("instance name %q: %s", spec.Name, strings.Join(problems, "; "))
	}
	if spec.ID != "" {
		if err := validName("instance ID", spec.ID); err != nil {
			return err
		}
	}
	if spec.Zone != "" && !slices.Contains(l.rules.zones, spec.Zone) {
		return invalid("zone %q is unknown: use one of %s", spec.Zone, strings.Join(l.rules.zones, ", "))
	}
	types := instanceTypes()
	valid := slices.ContainsFunc(types, func(t api.InstanceType) bool { return t.Name == spec.Type })
	if spec.Type != "" && !valid {
		names := make([]string, 0, len(types))
		for _, t := range types {
			names = append(names, t.Name)
		}
		return invalid("instance type %q is unknown: use one of %s", spec.Type, strings.Join(names, ", "))
	}
	return nil
}

// contradiction returns the field in which a spec differs from the existing instance.
func contradiction(spec api.InstanceSpec, have api.Instance) string {
	same := func(want, have []string) bool {
		addrs, err := parseAddresses(want)
		return len(want) == 0 || err == nil && slices.EqualFunc(addrs, have,
			func(a netip.Addr, s string) bool { return a.String() == s })
	}
	switch {
	case spec.ID != "" && spec.ID != have.ID:
		return "ID"
	case spec.Zone != "" && spec.Zone != have.Zone:
		return "zone"
	case spec.Type != "" && spec.Type != have.Type:
		return "type"
	case !same(spec.InternalAddresses, have.InternalAddresses):
		return "internalAddresses"
	case !same(spec.ExternalAddresses, have.ExternalAddresses):
		return "externalAddresses"
	case len(spec.Labels) > 0 && !maps.Equal(spec.Labels, have.Labels):
		return "labels"
	}
	return ""
}

// terminate deletes a machine: it leaves every pool, and its routes become blackholes.
func (t *tx) terminate(id string) error {
	if _, ok := t.Instances[id]; !ok {
		return notFound("instance", id)
	}
	delete(t.Instances, id)
	for _, lb := range t.LoadBalancers {
		for i := range lb.Pools {
			lb.Pools[i].Members = slices.DeleteFunc(lb.Pools[i].Members, func(m api.Member) bool { return m.InstanceID == id })
		}
	}
	t.markChanged()
	return nil
}

func (t *tx) setInstanceState(id, state string) (api.Instance, error) {
	i, ok := t.Instances[id]
	if !ok {
		return api.Instance{}, notFound("instance", id)
	}
	states := []string{api.StatePending, api.StateRunning, api.StateStopped}
	if !slices.Contains(states, state) {
		return api.Instance{}, invalid("state %q is unknown: use one of %s", state, strings.Join(states, ", "))
	}
	if i.State != state {
		i.State = state
		t.markChanged()
	}
	return t.renderInstance(i), nil
}
