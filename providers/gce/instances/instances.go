// Package instances reads the instances of nodes, their network tags and their ranges for pods.
package instances

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	common "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

const (
	// maxFilter is the length limit of a filter: URLs of about 8,000 characters are accepted everywhere.
	maxFilter = 4000
	// maxGets is the number of instances up to which single reads are cheaper than the list of all.
	maxGets = 4
)

// Options configure New. All fields but Clock are required.
type Options struct {
	API    api.API
	IDs    names.ProviderIDs
	Config config.Global
	Clock  clock.PassiveClock
}

// Source reads instances of all zones of the project: a zone counts as soon as it has an instance. It is safe for
// concurrent use.
type Source struct {
	options  Options
	networks *networks
	lacking  *lacking
}

var _ common.Source = (*Source)(nil)

// New returns a Source. It makes no call.
func New(o Options) *Source {
	if o.Clock == nil {
		o.Clock = clocks.OrReal(nil)
	}
	return &Source{options: o, networks: newNetworks(o.Clock), lacking: newLacking(o.Clock)}
}

// List implements common.Source. With node-instance-prefix, other instances are absent; they are read one by one. So
// are those of zones that do not answer.
func (s *Source) List(ctx context.Context) ([]common.Instance, error) {
	filter := ""
	if prefix := s.options.Config.NodeInstancePrefix; prefix != "" {
		filter = "name eq " + regexp.QuoteMeta(prefix) + ".*"
	}
	found, _, err := s.converted(ctx, filter)
	return found, err
}

// PodNetworks reads the ranges of instances by ID. One that does not exist is absent. An error is about that instance
// only; the last one is about all.
func (s *Source) PodNetworks(ctx context.Context, ids []string) (map[string]PodNetwork, map[string]error, error) {
	all, errs := map[string]PodNetwork{}, map[string]error{}
	if len(ids) == 0 {
		return all, errs, nil
	}
	found, err := s.Get(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, i := range found {
		if entry, ok := s.networks.of(i.ID); ok && i.Uncertain == nil {
			all[i.ID] = entry.pods
		} else {
			errs[i.ID] = i.Uncertain
		}
	}
	return all, errs, nil
}

// Get implements common.Source. An instance counts as deleted if the read of it and the list of its name agree: a
// missing project or zone is "not found" too, and fails the list.
func (s *Source) Get(ctx context.Context, ids []string) ([]common.Instance, error) {
	if len(ids) > maxGets {
		return s.selected(ctx, ids)
	}
	var found []api.Instance
	var uncertain []common.Instance
	var missing []string
	for _, id := range ids {
		zone, name := names.SplitInstanceID(id)
		var instance api.Instance
		err := s.options.API.Get(ctx, api.InstancesGet, api.Target{Zone: zone, Name: name}, &instance)
		switch {
		case cloudapi.Is(err, cloudapi.NotFound):
			missing = append(missing, id)
		// Its zone may be disrupted, or its name is that of no zone. The others of the call are not affected.
		case cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Invalid) && ctx.Err() == nil:
			uncertain = append(uncertain, common.Instance{ID: id, Uncertain: err})
		case err != nil:
			return nil, err
		default:
			found = append(found, instance)
		}
	}
	out, err := s.convert(ctx, found)
	out = append(out, uncertain...)
	if err != nil || len(missing) == 0 {
		return out, err
	}
	rest, err := s.selected(ctx, missing)
	return append(out, rest...), err
}

// selected returns the instances with these IDs from lists of their names. Those that are in a zone which did not
// answer are uncertain.
func (s *Source) selected(ctx context.Context, ids []string) ([]common.Instance, error) {
	wanted := make([]string, len(ids))
	for i, id := range ids {
		_, wanted[i] = names.SplitInstanceID(id)
	}
	found, silent, err := s.named(ctx, wanted)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(i common.Instance) bool { return !slices.Contains(ids, i.ID) })
	for _, id := range ids {
		zone, _ := names.SplitInstanceID(id)
		isFound := slices.ContainsFunc(found, func(i common.Instance) bool { return i.ID == id })
		if !isFound && slices.Contains(silent, zone) {
			found = append(found, common.Instance{ID: id, Uncertain: unanswered(silent)})
		}
	}
	return found, nil
}

// unanswered returns the error about an instance that may be in a zone which did not answer.
func unanswered(zones []string) error {
	return (&api.PartialError{Call: api.InstancesList, Places: zones}).OrNil()
}

// Find implements common.Source. The name of an instance is that of its Node up to the first dot. Of instances with one
// name, the one in local-zone counts if the nodes are in that zone only, then the one in the region.
func (s *Source) Find(ctx context.Context, nodes []common.NodeRef) ([]common.Instance, error) {
	e, err := s.options.API.Environment(ctx)
	if err != nil {
		return nil, err
	}
	wanted := make([]string, len(nodes))
	for i, node := range nodes {
		wanted[i] = names.InstanceName(node.Name)
	}
	found, silent, err := s.named(ctx, wanted)
	if err != nil {
		return nil, err
	}
	silent = slices.DeleteFunc(silent, func(zone string) bool { return names.RegionOf(zone) != e.Region })
	byName := map[string][]common.Instance{}
	for _, i := range found {
		if i.Region == e.Region {
			byName[i.NodeName] = append(byName[i.NodeName], i)
		}
	}
	var out []common.Instance
	for i, node := range nodes {
		candidates := byName[wanted[i]]
		local := slices.IndexFunc(candidates, func(c common.Instance) bool { return c.Zone == e.Zone })
		switch {
		case len(candidates) == 0 && len(silent) == 0:
			continue
		case len(candidates) == 0:
			candidates = []common.Instance{{Uncertain: unanswered(silent)}}
		case local >= 0 && !s.options.Config.AllZones():
			candidates = candidates[local : local+1]
		case len(candidates) > 1:
			candidates = []common.Instance{{Uncertain: ambiguous(wanted[i], candidates)}}
		}
		instance := candidates[0]
		instance.NodeName = node.Name
		out = append(out, instance)
	}
	return out, nil
}

// ambiguous returns the error about several instances with the name of one node.
func ambiguous(name string, instances []common.Instance) error {
	var zones []string
	for _, i := range instances {
		zones = append(zones, i.Zone)
	}
	slices.Sort(zones)
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "Find",
		Err: fmt.Errorf("the zones %s have an instance %s each: set --provider-id of its kubelet",
			strings.Join(zones, ", "), name)}
}

// named returns the instances with these names in all zones, and the zones that did not answer. Many names are read
// with the list of all.
func (s *Source) named(ctx context.Context, wanted []string) (found []common.Instance, silent []string, err error) {
	wanted = slices.Compact(slices.Sorted(slices.Values(wanted)))
	for i, name := range wanted {
		wanted[i] = regexp.QuoteMeta(name)
	}
	filter := "name eq (" + strings.Join(wanted, "|") + ")"
	if len(wanted) == 1 {
		filter = "name eq " + wanted[0]
	}
	if len(filter) > maxFilter {
		filter = ""
	}
	return s.converted(ctx, filter)
}

func (s *Source) converted(ctx context.Context, filter string) (found []common.Instance, silent []string, err error) {
	listed, silent, err := s.list(ctx, filter)
	if err != nil {
		return nil, nil, err
	}
	found, err = s.convert(ctx, listed)
	return found, silent, err
}

// NodeTags returns the network tags that select the nodes with these instances: those of the configuration, or of each
// instance the longest one with which its name begins. An instance that does not exist selects nothing. One in a zone
// that does not answer has the tags that were read last.
func (s *Source) NodeTags(ctx context.Context, ids []string) (Tags, error) {
	var out Tags
	if configured := s.options.Config.NodeTags; len(configured) > 0 {
		out.Tags = slices.Compact(slices.Sorted(slices.Values(configured)))
		return out, nil
	}
	unknown := func(id string) bool {
		_, isFresh := s.networks.of(id)
		lacks, _ := s.lacking.of(id)
		return !isFresh && !lacks
	}
	if slices.ContainsFunc(ids, unknown) {
		found, silent, err := s.list(ctx, "")
		if err != nil {
			return out, err
		}
		s.networks.record(found)
		s.lacking.record(ids, found, silent)
	}
	for _, id := range ids {
		_, name := names.SplitInstanceID(id)
		entry, isFresh := s.networks.of(id)
		_, isSilent := s.lacking.of(id)
		if !isFresh && (!isSilent || entry.at.IsZero()) {
			out.Partial = out.Partial || isSilent
			continue
		}
		if tag := longestPrefix(name, entry.tags); tag != "" {
			out.Tags = append(out.Tags, tag)
		} else {
			out.Untagged, out.Partial = append(out.Untagged, name), true
		}
	}
	slices.Sort(out.Tags)
	slices.Sort(out.Untagged)
	out.Tags = slices.Compact(out.Tags)
	return out, nil
}

func (s *Source) list(ctx context.Context, filter string) (found []api.Instance, silent []string, err error) {
	query := url.Values{}
	if filter != "" {
		query.Set("filter", filter)
	}
	documents, err := s.options.API.List(ctx, api.InstancesList, api.Target{}, query)
	if silent, err = api.Unreachable(err); err != nil {
		return nil, nil, err
	}
	if found, err = api.ParseAll[api.Instance](documents); err != nil {
		return nil, nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: api.InstancesList.String(), Err: err}
	}
	s.networks.forget(silent)
	return found, silent, nil
}

// convert returns instances as package instances needs them, and remembers their networks.
func (s *Source) convert(ctx context.Context, found []api.Instance) ([]common.Instance, error) {
	e, err := s.options.API.Environment(ctx)
	if err != nil {
		return nil, err
	}
	s.networks.record(found)
	out := make([]common.Instance, 0, len(found))
	for _, i := range found {
		zone := api.Last(i.Zone)
		providerID, err := s.options.IDs.Format(e.Project, zone, i.Name)
		if err != nil {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "instances.get", Err: err}
		}
		instance := common.Instance{
			ID: names.InstanceID(zone, i.Name), ProviderID: providerID,
			Type: api.Last(i.MachineType), Zone: zone, Region: names.RegionOf(zone), State: stateOf(i.Status),
			Addresses: addresses(i, s.options.Config.PrefersIPv6()),
		}
		// Another cluster of the project may have an instance of this name in another region, as for Find.
		if instance.Region == e.Region {
			instance.NodeName = i.Name
		}
		out = append(out, instance)
	}
	return out, nil
}

// stateOf maps the states of instances. One that is being stopped, and an unknown state, count as running, which never
// taints a node.
func stateOf(status string) common.State {
	switch status {
	case "TERMINATED", "STOPPED", "SUSPENDED":
		return common.Stopped
	case "PROVISIONING", "STAGING":
		return common.Pending
	default:
		return common.Running
	}
}

// addresses returns the addresses of an instance, interface by interface, those of the first family before the others.
func addresses(i api.Instance, ipv6First bool) []v1.NodeAddress {
	var out []v1.NodeAddress
	add := func(kind v1.NodeAddressType, ip string) {
		if ip != "" {
			out = append(out, v1.NodeAddress{Type: kind, Address: ip})
		}
	}
	for _, nic := range i.Interfaces {
		add(v1.NodeInternalIP, nic.NetworkIP)
		for _, access := range nic.AccessConfigs {
			add(v1.NodeExternalIP, access.NatIP)
		}
		add(v1.NodeInternalIP, IPv6Of(nic))
	}
	isSecond := func(a v1.NodeAddress) int {
		if strings.Contains(a.Address, ":") != ipv6First {
			return 1
		}
		return 0
	}
	sorting.StableFunc(out, func(a, b v1.NodeAddress) int { return cmp.Compare(isSecond(a), isSecond(b)) })
	return out
}
