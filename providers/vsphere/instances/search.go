package instances

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	common "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

const (
	// searchLimit is the number of machines from which on the datacenters are collected: the search index takes a call,
	// or two, for each machine, a collection one for each 100 objects.
	searchLimit = 32
	// absentMaxAge is how long a list does not search again for a machine that this vCenter does not have: another one
	// may have it.
	absentMaxAge = 10 * time.Minute
	// entitiesMaxAge is the max age of the objects above machines.
	entitiesMaxAge = 30 * time.Minute
	// scanTimeout bounds a collection of all machines, which continues without its callers, and scanMaxAge is how long
	// the result of one without callers is used.
	scanTimeout = 10 * time.Minute
	scanMaxAge  = time.Minute
)

// clusterMachines are the machines that the cluster's Nodes name, by UUID.
type clusterMachines map[string]nodeMachine

// nodeMachine is what a Node says about its machine.
type nodeMachine struct {
	// label is the object in the label of the Node; the zero reference without one.
	label api.Ref
	// isSystem is set if the UUID is the system UUID of a Node without a provider ID.
	isSystem bool
}

// machinesOfNodes returns the machines of the Nodes that may be in this vCenter. It returns false without a cluster:
// then every machine may be that of a Node.
func (s *Source) machinesOfNodes(vcenter string) (clusterMachines, bool) {
	all, err := s.options.Nodes.All()
	if err != nil {
		return nil, false
	}
	out := clusterMachines{}
	for _, node := range all {
		uuid, ok := s.uuidOf(node)
		labelVCenter, object := names.ParseMachineLabel(node.Labels[names.MachineLabel])
		if !ok || labelVCenter != "" && labelVCenter != vcenter {
			continue
		}
		m := nodeMachine{isSystem: node.Spec.ProviderID == ""}
		if labelVCenter != "" {
			m.label = api.Ref{Type: api.TypeMachine, Value: object}
		}
		out[uuid] = m
	}
	return out, true
}

// uuidOf returns the UUID that a Node of this cloud has in its provider ID or reports.
func (s *Source) uuidOf(node *v1.Node) (string, bool) {
	if node.Spec.ProviderID != "" {
		uuid, err := s.providerIDs.Parse(node.Spec.ProviderID)
		return uuid, err == nil
	}
	return names.ParseUUID(node.Status.NodeInfo.SystemUUID)
}

// List implements instances.Source. It has the machines of the cluster's Nodes, or all without a cluster, and omits
// those that share their UUID: Get and Find name them.
func (s *Source) List(ctx context.Context) ([]common.Instance, error) {
	found, err := s.listMachines(ctx)
	if err != nil {
		return nil, err
	}
	return s.instances(found), nil
}

// listMachines reads the machines of the cluster's Nodes: known ones by reference, and those of a few new Nodes by the
// search index. Without a cluster, and with many new Nodes, it collects the datacenters.
func (s *Source) listMachines(ctx context.Context) (*collection, error) {
	vcenter, err := s.options.API.Identity(ctx)
	if err != nil {
		return nil, err
	}
	wanted, ok := s.machinesOfNodes(vcenter)
	if !ok {
		return s.scan(ctx, nil, false)
	}
	refs, missing := s.knownMachines(wanted)
	if len(missing) > searchLimit {
		return s.scan(ctx, wanted, false)
	}
	for _, uuid := range missing {
		found, err := s.search(ctx, uuid, wanted[uuid].isSystem)
		if err != nil {
			return nil, err
		}
		refs = append(refs, found...)
	}
	return s.read(ctx, refs)
}

// knownMachines returns the objects of machines that are known or in labels, and the UUIDs of those to search.
func (s *Source) knownMachines(wanted clusterMachines) (refs []api.Ref, missing []string) {
	now := s.options.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(wanted)
	for _, uuid := range slices.Sorted(maps.Keys(wanted)) {
		ref, known := s.knownRef(uuid)
		at, absent := s.absent[uuid]
		switch {
		case known:
			refs = append(refs, ref)
		case wanted[uuid].label != (api.Ref{}):
			refs = append(refs, wanted[uuid].label)
		case !absent || now.Sub(at) >= absentMaxAge:
			missing = append(missing, uuid)
		}
	}
	return refs, missing
}

// knownRef returns the object of the machine with that UUID, in any byte order. The caller holds the lock.
func (s *Source) knownRef(uuid string) (api.Ref, bool) {
	for _, form := range []string{uuid, names.SwapUUID(uuid)} {
		if ref, known := s.seen[form]; known {
			return ref, true
		}
	}
	return api.Ref{}, false
}

// forget drops what is known about machines without a Node. The caller holds the lock.
func (s *Source) forget(wanted clusterMachines) {
	hasNode := func(uuid string) bool {
		_, ok := wanted[uuid]
		_, swapped := wanted[names.SwapUUID(uuid)]
		return ok || swapped
	}
	maps.DeleteFunc(s.seen, func(uuid string, _ api.Ref) bool { return !hasNode(uuid) })
	maps.DeleteFunc(s.absent, func(uuid string, _ time.Time) bool { return !hasNode(uuid) })
}

// search searches the machines with a UUID in any byte order: the swapped one first for a system UUID.
func (s *Source) search(ctx context.Context, uuid string, isSystem bool) ([]api.Ref, error) {
	forms := []string{uuid, names.SwapUUID(uuid)}
	if isSystem {
		slices.Reverse(forms)
	}
	for _, form := range forms {
		refs, err := s.options.API.FindByUUID(ctx, form)
		if err != nil || len(refs) > 0 {
			return refs, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.absent[uuid] = s.options.Clock.Now()
	return nil, nil
}

// Get implements instances.Source. The result has other known instances too, which serve the reads that follow. An
// ID with swapped bytes is that of the same machine.
func (s *Source) Get(ctx context.Context, ids []string) ([]common.Instance, error) {
	found, err := s.getMachines(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := s.instances(found)
	for _, id := range ids {
		machine, ok, err := found.unique(id, names.SwapUUID(id))
		if err == nil && !ok {
			err = s.proveDeleted(ctx, id)
		}
		if err != nil {
			out = append(out, common.Instance{ID: id, Uncertain: err})
			continue
		}
		if !ok || machine.UUID == id {
			continue
		}
		in := s.convert(found, machine)
		in.ID = id
		out = append(out, in)
	}
	return out, nil
}

// getMachines reads the machines with these UUIDs, and all known ones beside them: many Nodes are checked one after
// the other. The search index has to confirm that a machine does not exist, and finds its running copy if it is not
// running.
func (s *Source) getMachines(ctx context.Context, ids []string) (*collection, error) {
	s.mu.Lock()
	known := slices.Collect(maps.Values(s.seen))
	s.mu.Unlock()
	read, err := s.read(ctx, slices.Clone(known))
	if err != nil {
		return nil, err
	}
	unconfirmed := clusterMachines{}
	for _, id := range ids {
		if !read.isRunning(id) {
			unconfirmed[id] = nodeMachine{}
		}
	}
	if len(unconfirmed) > searchLimit {
		return s.scan(ctx, unconfirmed, true)
	}
	var found []api.Ref
	for _, id := range slices.Sorted(maps.Keys(unconfirmed)) {
		refs, err := s.search(ctx, id, false)
		if err != nil {
			return nil, err
		}
		found = append(found, refs...)
	}
	if read.hasAll(found) {
		return read, nil
	}
	return s.read(ctx, append(known, found...))
}

// isRunning reports whether the collection has a running machine with a UUID, in any byte order.
func (c *collection) isRunning(uuid string) bool {
	return slices.ContainsFunc(slices.Concat(c.byUUID[uuid], c.byUUID[names.SwapUUID(uuid)]), func(m api.Machine) bool {
		return m.PowerState == api.PoweredOn
	})
}

// hasAll reports whether the collection has all of these machines.
func (c *collection) hasAll(refs []api.Ref) bool {
	has := map[api.Ref]bool{}
	for _, m := range c.inventory.Machines {
		has[m.Ref] = true
	}
	return !slices.ContainsFunc(refs, func(ref api.Ref) bool { return !has[ref] })
}

// Find implements instances.Source. The system UUID of a Node identifies its machine. A Node that no machine
// matches by UUID is matched by the name of the guest, and then by the node's name as an address.
func (s *Source) Find(ctx context.Context, nodes []common.NodeRef) ([]common.Instance, error) {
	found, err := s.findMachines(ctx, nodes)
	if err != nil {
		return nil, err
	}
	var out []common.Instance
	for _, node := range nodes {
		machine, ok, err := found.findNode(node)
		if err == nil && !ok && s.options.KeepDeleted {
			err = s.keepError("of Node " + node.Name)
		}
		if err != nil {
			out = append(out, common.Instance{NodeName: node.Name, Uncertain: err})
			continue
		}
		if !ok {
			continue
		}
		in := s.convert(found, machine)
		in.NodeName = node.Name
		out = append(out, in)
	}
	return out, nil
}

// findMachines reads the machines of Nodes: by system UUID, or else by the name of the guest, or else by address.
func (s *Source) findMachines(ctx context.Context, nodes []common.NodeRef) (*collection, error) {
	if len(nodes) > searchLimit {
		return s.scan(ctx, nil, true)
	}
	var refs []api.Ref
	for _, node := range nodes {
		var found []api.Ref
		var err error
		if uuid, ok := names.ParseUUID(node.SystemUUID); ok {
			found, err = s.search(ctx, uuid, true)
		}
		if err == nil && len(found) == 0 {
			found, err = s.options.API.FindByName(ctx, node.Name)
		}
		if _, parseErr := netip.ParseAddr(node.Name); err == nil && len(found) == 0 && parseErr == nil {
			found, err = s.options.API.FindByAddress(ctx, node.Name)
		}
		if err != nil {
			return nil, err
		}
		refs = append(refs, found...)
	}
	return s.read(ctx, refs)
}

// read reads machines by reference.
func (s *Source) read(ctx context.Context, refs []api.Ref) (*collection, error) {
	sorting.Func(refs, api.Ref.Compare)
	refs = slices.Compact(refs)
	if len(refs) == 0 {
		return &collection{vcenter: s.options.Name, byUUID: map[string][]api.Machine{}}, nil
	}
	s.mu.Lock()
	above := len(s.entities) == 0 && len(refs) <= searchLimit && s.hasContainers()
	s.mu.Unlock()
	inventory, err := s.options.API.Read(ctx, refs, above)
	if err != nil {
		return nil, err
	}
	if above {
		s.mu.Lock()
		s.entities, s.entitiesAt = maps.Clone(inventory.Entities), s.options.Clock.Now()
		s.mu.Unlock()
	}
	if inventory.Entities, err = s.ancestors(ctx, inventory.Machines); err != nil {
		return nil, err
	}
	return s.collect(ctx, inventory, nil), nil
}

// hasContainers reports whether the objects above machines matter: with zones or datacenters.
func (s *Source) hasContainers() bool { return s.zones.enabled() || len(s.options.Datacenters) > 0 }

// ancestors returns the objects above machines, if zones or datacenters are configured.
func (s *Source) ancestors(ctx context.Context, machines []api.Machine) (map[api.Ref]api.Entity, error) {
	if !s.hasContainers() {
		return nil, nil
	}
	now := s.options.Clock.Now()
	s.mu.Lock()
	known := maps.Clone(s.entities) // Others read the map while this call adds to it.
	outdated := now.Sub(s.entitiesAt) >= entitiesMaxAge
	s.mu.Unlock()
	if outdated {
		known = map[api.Ref]api.Entity{}
	}
	missing := map[api.Ref]bool{}
	for _, m := range machines {
		for _, ref := range []api.Ref{m.Host, m.Pool, container(m)} {
			if _, ok := known[ref]; !ok && ref != (api.Ref{}) {
				missing[ref] = true
			}
		}
	}
	if len(missing) == 0 {
		return known, nil
	}
	refs := sorting.SortedFunc(maps.Keys(missing), api.Ref.Compare)
	read, err := s.options.API.Ancestors(ctx, refs)
	if err != nil {
		return nil, err
	}
	maps.Copy(known, read)
	s.mu.Lock()
	defer s.mu.Unlock()
	if outdated {
		s.entitiesAt = now
	}
	s.entities = known
	return known, nil
}

// scan collects all machines in scope. Only wanted ones count; nil for all. With fresh set, the collection starts after
// the call.
func (s *Source) scan(ctx context.Context, wanted clusterMachines, fresh bool) (*collection, error) {
	for {
		current, started := s.startScan(ctx)
		select {
		case <-ctx.Done():
			return nil, uncertainError(cloudapi.Unavailable, "the collection of all machines in vCenter %s continues",
				s.options.Name)
		case <-current.done:
		}
		s.scans.mu.Lock()
		if s.scans.current == current {
			s.scans.current = nil
		}
		s.scans.mu.Unlock()
		isOld := fresh || current.err != nil || s.options.Clock.Since(current.endedAt) >= scanMaxAge
		switch {
		case !started && isOld && ctx.Err() == nil:
			continue // It began before the call.
		case current.err != nil:
			return nil, current.err
		default:
			return s.collect(ctx, current.inventory, wanted), nil
		}
	}
}

// startScan returns the current collection, or starts one.
func (s *Source) startScan(ctx context.Context) (current *scan, started bool) {
	s.scans.mu.Lock()
	defer s.scans.mu.Unlock()
	if s.scans.current != nil {
		return s.scans.current, false
	}
	s.scans.current = &scan{done: make(chan struct{})}
	go s.runScan(context.WithoutCancel(ctx), s.scans.current)
	return s.scans.current, true
}

// runScan collects the machines below the configured datacenters.
func (s *Source) runScan(ctx context.Context, current *scan) {
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	defer close(current.done)
	current.inventory, current.err = panics.Value(func() (api.Inventory, error) { return s.collectScope(ctx) })
	current.endedAt = s.options.Clock.Now()
}

// collectScope reads all machines below the configured datacenters, and the objects above these.
func (s *Source) collectScope(ctx context.Context) (api.Inventory, error) {
	if len(s.options.Datacenters) == 0 {
		return s.options.API.Collect(ctx, nil)
	}
	top, err := s.options.API.Datacenters(ctx)
	if err != nil {
		return top, err
	}
	var roots []api.Ref
	for ref := range top.Entities {
		if ref.Type == api.TypeDatacenter && isDatacenterInScope(top, ref, s.options.Datacenters) {
			roots = append(roots, ref)
		}
	}
	sorting.Func(roots, api.Ref.Compare)
	if len(roots) == 0 {
		return top, nil
	}
	inventory, err := s.options.API.Collect(ctx, roots)
	maps.Copy(inventory.Entities, top.Entities)
	return inventory, err
}

// collect returns the machines of an inventory that are in scope, and records the objects of the cluster's. Only wanted
// ones count; nil for all.
func (s *Source) collect(ctx context.Context, inventory api.Inventory, wanted clusterMachines) *collection {
	found := &collection{vcenter: s.options.Name, inventory: inventory, byUUID: map[string][]api.Machine{}}
	for _, m := range inventory.Machines {
		if m.Template || m.UUID == "" || !wanted.include(m.UUID) || !isInScope(inventory, m, s.options.Datacenters) {
			continue
		}
		found.byUUID[m.UUID] = append(found.byUUID[m.UUID], m)
	}
	var machines []api.Machine
	s.mu.Lock()
	for uuid, sameUUID := range found.byUUID {
		found.byUUID[uuid] = preferRunning(sameUUID)
		s.seen[uuid] = found.byUUID[uuid][0].Ref
		delete(s.absent, uuid)
		delete(s.absent, names.SwapUUID(uuid))
		machines = append(machines, found.byUUID[uuid]...)
	}
	for uuid := range wanted {
		if _, known := s.knownRef(uuid); !known {
			s.absent[uuid] = s.options.Clock.Now()
		}
	}
	s.mu.Unlock()
	found.places = s.zones.read(ctx, inventory, machines)
	return found
}

// include reports whether a machine counts, in any byte order of its UUID.
func (c clusterMachines) include(uuid string) bool {
	_, found := c[uuid]
	_, swapped := c[names.SwapUUID(uuid)]
	return c == nil || found || swapped
}
