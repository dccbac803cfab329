// Package instances implements the Source of pkg/common/instances with the virtual machines of one vCenter.
//
// Machines are read with property collections when the framework needs them, and not watched with WaitForUpdatesEx.
// With 1,000 machines on govmomi's simulator, an idle hour has 24 calls: 12 reads for the refreshes of the
// framework, and the tags of zones. Long polls of 5 minutes would replace the 12 collections by 12 polls, and each
// login would need 3 more calls for the view and its filter. Every change of a machine ends a poll: 100 changes in an
// hour are 110 calls, 1,000 changes 1,010. Earlier knowledge of changes has no use, because the framework checks nodes
// at its own pace and refreshes addresses every 5 minutes.
package instances

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	common "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// operation is the call that all data of machines come from.
const operation = "RetrievePropertiesEx"

// Options configure NewSource.
type Options struct {
	// Name is the name of the vCenter, for messages.
	Name string
	API  api.VCenter
	// Datacenters are those in scope, by name, path or reference; none for all.
	Datacenters []string
	Addresses   AddressRules
	// Region and Zone are categories of tags; "" for no zones.
	Region, Zone string
	// Labels are set on each node when it is initialized.
	Labels map[string]string
	// KeepDeleted returns an error for a deleted machine, so that its node stays.
	KeepDeleted bool
	Clock       clock.PassiveClock
	// Nodes are those of the cluster; nil without one.
	Nodes *nodes.LazyLister
}

// Source implements instances.Source with the machines of one vCenter.
type Source struct {
	options     Options
	providerIDs names.ProviderIDs
	zones       *zones

	scans scans

	mu sync.Mutex
	// seen has the objects of machines by UUID, to read them again and to prove that one is deleted. absent are the UUIDs
	// that this vCenter did not have, and when.
	seen   map[string]api.Ref
	absent map[string]time.Time
	// entities are the objects above machines, which were read from entitiesAt on.
	entities   map[api.Ref]api.Entity
	entitiesAt time.Time
}

// scans are the collections of all machines in the configured datacenters: one at a time, which several callers share.
// One takes minutes in a vCenter with many machines: it continues without its callers, and the next one gets its
// result.
type scans struct {
	mu      sync.Mutex
	current *scan
}

// scan is a collection. Its fields are set when done is closed.
type scan struct {
	done      chan struct{}
	inventory api.Inventory
	err       error
	endedAt   time.Time
}

var _ common.Source = (*Source)(nil)

// NewSource returns a Source. It makes no call.
func NewSource(o Options) *Source {
	return &Source{
		options: o, providerIDs: names.NewProviderIDs(), seen: map[string]api.Ref{}, absent: map[string]time.Time{},
		zones: newZones(o.API, o.Region, o.Zone, o.Clock),
	}
}

// instances returns the instances of a collection.
func (s *Source) instances(found *collection) []common.Instance {
	var out []common.Instance
	for _, uuid := range slices.Sorted(maps.Keys(found.byUUID)) {
		if machines := found.byUUID[uuid]; len(machines) == 1 {
			if in := s.convert(found, machines[0]); in.Uncertain == nil {
				out = append(out, in)
			}
		}
	}
	return out
}

// preferRunning returns the only running machine among those of one UUID, or else all. A clone is usually powered off.
func preferRunning(machines []api.Machine) []api.Machine {
	if len(machines) == 1 {
		return machines
	}
	running := slices.DeleteFunc(slices.Clone(machines), func(m api.Machine) bool { return m.PowerState != api.PoweredOn })
	if len(running) == 1 {
		return running
	}
	return machines
}

// isInScope reports whether a machine is in one of the datacenters: by name with wildcards, by path, or by reference.
func isInScope(inventory api.Inventory, m api.Machine, datacenters []string) bool {
	if len(datacenters) == 0 {
		return true
	}
	chain := inventory.Chain(container(m))
	i := slices.IndexFunc(chain, func(r api.Ref) bool { return r.Type == api.TypeDatacenter })
	if i < 0 {
		return false
	}
	return isDatacenterInScope(inventory, chain[i], datacenters)
}

// isDatacenterInScope reports whether a datacenter is one of the configured ones.
func isDatacenterInScope(inventory api.Inventory, ref api.Ref, datacenters []string) bool {
	dc := inventory.Entities[ref]
	var location strings.Builder
	for _, ref := range slices.Backward(inventory.Chain(ref)) {
		// The root folder has no name in paths.
		if e := inventory.Entities[ref]; e.Parent != (api.Ref{}) {
			location.WriteString("/" + e.Name)
		}
	}
	return slices.ContainsFunc(datacenters, func(want string) bool {
		if ref, ok := strings.CutPrefix(want, api.TypeDatacenter+":"); ok {
			return ref == dc.Ref.Value
		}
		if strings.HasPrefix(want, "/") {
			matched, err := path.Match(want, location.String())
			return err == nil && matched
		}
		matched, err := path.Match(want, dc.Name)
		return err == nil && matched
	})
}

// proveDeleted returns nil if the machine with that UUID is deleted, and an error if that is uncertain. The
// collection does not have it. It is deleted only if the search index does not have it in any form, and if its
// object does not exist; an account that has lost its permission, or a host that does not answer,
// proves nothing. The permissions of the account cannot prove it either: a vCenter lists only those on objects that
// the account can see.
func (s *Source) proveDeleted(ctx context.Context, id string) error {
	if s.options.KeepDeleted {
		return s.keepError(id)
	}
	vcenter, err := s.options.API.Identity(ctx)
	if err != nil {
		return err
	}
	objects := s.findObjects(vcenter, id)
	for _, uuid := range []string{id, names.SwapUUID(id)} {
		refs, err := s.options.API.FindByUUID(ctx, uuid)
		if err != nil {
			return err
		}
		if len(refs) > 0 {
			return s.checkOutOfScope(ctx, id, refs)
		}
	}
	for _, object := range objects {
		if err := s.proveObjectDeleted(ctx, id, object); err != nil {
			return err
		}
	}
	return nil
}

// proveObjectDeleted returns nil if an object does not exist or is that of another machine, and an error if it may be
// the machine with that UUID.
func (s *Source) proveObjectDeleted(ctx context.Context, id string, object api.Ref) error {
	machines, err := s.options.API.ReadMachines(ctx, []api.Ref{object})
	switch {
	case cloudapi.Is(err, cloudapi.NotFound):
		return nil
	case err != nil:
		return err
	case len(machines) > 0 && machines[0].UUID != "" && machines[0].UUID != id && machines[0].UUID != names.SwapUUID(id):
		return nil // Its UUID was changed: the node's machine does not exist.
	}
	return uncertainError(cloudapi.Unavailable, "machine %s (%s) exists in vCenter %s and cannot be read: check its "+
		"host, and that the account has the permission System.Read for it", id, object.Value, s.options.Name)
}

// keepError is the error of a machine that does not exist and whose node stays.
func (s *Source) keepError(machine string) error {
	return uncertainError(cloudapi.Unknown, "machine %s was not found in vCenter %s; its node stays because the "+
		"environment variable SKIP_NODE_DELETION is set", machine, s.options.Name)
}

// findObjects returns the objects that may be the machine with that UUID in this vCenter: that of the last collection,
// or else those in the labels of its Nodes. A kubelet can register its Node with the UUID of another one and with any
// label, so that one label alone proves nothing.
func (s *Source) findObjects(vcenter, id string) []api.Ref {
	swapped := names.SwapUUID(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uuid := range []string{id, swapped} {
		if seen, known := s.seen[uuid]; known {
			return []api.Ref{seen}
		}
	}
	all, err := s.options.Nodes.All()
	if err != nil {
		return nil // There is no cluster: nothing is deleted.
	}
	var objects []api.Ref
	for _, node := range all {
		if uuid, err := s.providerIDs.Parse(node.Spec.ProviderID); err != nil || uuid != id && uuid != swapped {
			continue
		}
		labelVCenter, object := names.ParseMachineLabel(node.Labels[names.MachineLabel])
		if ref := (api.Ref{Type: api.TypeMachine, Value: object}); labelVCenter != "" && labelVCenter == vcenter &&
			!slices.Contains(objects, ref) {
			objects = append(objects, ref)
		}
	}
	return objects
}

// checkOutOfScope returns an error for machines that only the search index has, unless all of them are templates.
func (s *Source) checkOutOfScope(ctx context.Context, id string, refs []api.Ref) error {
	machines, err := s.options.API.ReadMachines(ctx, refs)
	if err != nil {
		if cloudapi.Is(err, cloudapi.NotFound) {
			return uncertainError(cloudapi.Unavailable, "machine %s is being deleted from vCenter %s", id, s.options.Name)
		}
		return err
	}
	if len(machines) > 0 && !slices.ContainsFunc(machines, func(m api.Machine) bool { return !m.Template }) {
		return nil
	}
	return uncertainError(cloudapi.Unknown, "machine %s (%s) of vCenter %s is not in the configured datacenters, or the "+
		"account cannot read the folders above it", id, refs[0].Value, s.options.Name)
}

// uncertainError returns an error that does not prove that a machine is deleted.
func uncertainError(class cloudapi.Class, format string, args ...any) error {
	return &cloudapi.Error{Class: class, Operation: operation, Err: fmt.Errorf(format, args...)}
}

// collection is the machines in scope, by UUID. Usually each has one.
type collection struct {
	vcenter   string
	inventory api.Inventory
	byUUID    map[string][]api.Machine
	places    places
}

// unique returns the machine with one of the UUIDs. Several are an error: each could be that of the node.
func (c *collection) unique(uuids ...string) (api.Machine, bool, error) {
	for _, uuid := range uuids {
		if machines := c.byUUID[uuid]; len(machines) > 0 {
			return c.single(machines, "the BIOS UUID "+uuid)
		}
	}
	return api.Machine{}, false, nil
}

// single returns the only one of the machines. property is the property that they share.
func (c *collection) single(machines []api.Machine, property string) (api.Machine, bool, error) {
	if len(machines) == 1 {
		return machines[0], true, nil
	}
	var items []string
	for _, m := range machines {
		items = append(items, fmt.Sprintf("%s (%s)", m.Name, m.Ref.Value))
	}
	slices.Sort(items)
	return api.Machine{}, false, uncertainError(cloudapi.Invalid, "several machines in vCenter %s have %s: %s; change "+
		"that of all but one", c.vcenter, property, strings.Join(items, ", "))
}

// findNode returns the machine of a Node.
func (c *collection) findNode(node common.NodeRef) (api.Machine, bool, error) {
	if uuid, ok := names.ParseUUID(node.SystemUUID); ok {
		machine, found, err := c.unique(names.SwapUUID(uuid), uuid)
		if found || err != nil {
			return machine, found, err
		}
	}
	for _, match := range []func(api.Machine) bool{
		func(m api.Machine) bool { return m.HostName == node.Name },
		func(m api.Machine) bool { return hasAddress(m, node.Name) },
	} {
		var machines []api.Machine
		for _, uuid := range slices.Sorted(maps.Keys(c.byUUID)) {
			for _, m := range c.byUUID[uuid] {
				if match(m) {
					machines = append(machines, m)
				}
			}
		}
		if len(machines) > 0 {
			return c.single(machines, "the guest name or address "+node.Name)
		}
	}
	return api.Machine{}, false, nil
}

func hasAddress(m api.Machine, address string) bool {
	return slices.ContainsFunc(m.NICs, func(n api.NIC) bool { return slices.Contains(n.Addresses, address) })
}

// convert returns the instance of a machine. It is incomplete if something is missing that only a joining node needs: a
// node that has joined keeps its addresses and labels.
func (s *Source) convert(found *collection, m api.Machine) common.Instance {
	providerID, err := s.providerIDs.Format(m.UUID)
	if err != nil {
		return common.Instance{ID: m.UUID, Uncertain: uncertainError(cloudapi.Unknown, "machine %s: %w", m.Name, err)}
	}
	addresses, addressErr := s.options.Addresses.nodeAddresses(m)
	place, placeErr := found.places.find(m)
	in := common.Instance{
		ID: m.UUID, ProviderID: providerID, NodeName: m.HostName,
		SystemUUIDs: []string{m.UUID, names.SwapUUID(m.UUID)},
		Type:        instanceType(m), State: stateOf(m.PowerState), Addresses: addresses,
		Labels: s.labels(found.inventory.VCenter, m),
		Region: place.region, Zone: place.zone,
	}
	if err := errors.Join(addressErr, placeErr); err != nil {
		in.Incomplete = uncertainError(cloudapi.Unavailable, "machine %s of vCenter %s: %w", m.Name, s.options.Name, err)
	}
	return in
}

// labels returns the additional labels of a joining node.
func (s *Source) labels(vcenter string, m api.Machine) map[string]string {
	value := names.FormatMachineLabel(vcenter, m.Ref.Value)
	if value == "" {
		return s.options.Labels
	}
	labels := map[string]string{names.MachineLabel: value}
	maps.Copy(labels, s.options.Labels)
	return labels
}

// stateOf maps the power states. Suspended machines count as stopped, as they always have.
func stateOf(powerState string) common.State {
	switch powerState {
	case api.PoweredOff, api.Suspended:
		return common.Stopped
	default:
		return common.Running
	}
}
