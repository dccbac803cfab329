package routes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

const (
	// maxAttempts limits the attempts of a change that fails because of a concurrent change.
	maxAttempts = 5
	// concurrentPorts limits the ports that are changed concurrently.
	concurrentPorts = 8
	// tagsRetryAfter delays the next attempt to tag the router after Neutron has rejected it.
	tagsRetryAfter = time.Hour
)

// Extensions of Neutron that routes require or use.
const (
	extensionRoutes  = "extraroute"
	extensionAtomic  = "extraroute-atomic"
	extensionPairs   = "allowed-address-pairs"
	extensionTags    = "standard-attr-tag"
	extensionOldTags = "tag-ext"
)

// operation is the operation on routes.
type operation int

const (
	add operation = iota
	remove
)

// changeEach changes all routes that have no error, in one call. If Neutron rejects the call as invalid, it
// changes them in halves, so that an invalid route fails alone.
func (s *Source) changeEach(ctx context.Context, list []api.ExtraRoute, errs []error, op operation) {
	var indexes []int
	for i, r := range list {
		if errs[i] == nil && r != (api.ExtraRoute{}) {
			indexes = append(indexes, i)
		}
	}
	s.changeSome(ctx, list, errs, indexes, op)
}

func (s *Source) changeSome(ctx context.Context, list []api.ExtraRoute, errs []error, indexes []int, op operation) {
	if len(indexes) == 0 {
		return
	}
	routes := make([]api.ExtraRoute, len(indexes))
	for n, i := range indexes {
		routes[n] = list[i]
	}
	err := s.change(ctx, routes, op)
	if half := len(indexes) / 2; half > 0 && cloudapi.Is(err, cloudapi.Invalid) {
		s.changeSome(ctx, list, errs, indexes[:half], op)
		s.changeSome(ctx, list, errs, indexes[half:], op)
		return
	}
	for _, i := range indexes {
		errs[i] = err
		if err == nil && op == add {
			s.owned[list[i]] = true
		}
	}
}

// change adds routes to the router or removes them. With Neutron's extension extraroute-atomic it changes
// only these routes; without, it writes the whole list on the condition that the router has not changed
// since it was read.
func (s *Source) change(ctx context.Context, list []api.ExtraRoute, op operation) error {
	if len(list) == 0 {
		return nil
	}
	atomic, err := s.hasExtension(ctx, extensionAtomic)
	if err != nil {
		return err
	}
	if classic, err := s.hasExtension(ctx, extensionRoutes); err != nil || !atomic && !classic {
		return errors.Join(err, checkExtraRoutes(classic))
	}
	for attempt := 1; ; attempt++ {
		if !atomic {
			if err := s.read(ctx); err != nil {
				return err
			}
		}
		r, err := s.send(ctx, list, op, atomic)
		if err == nil {
			s.router, s.readAt = &r, s.clock.Now()
			return nil
		}
		// The outcome is uncertain, so the router must be read again.
		s.router = nil
		if !oserr.IsRevisionConflict(err) || attempt == maxAttempts {
			return err
		}
	}
}

// checkExtraRoutes returns an error if Neutron has neither extension for extra routes.
func checkExtraRoutes(supported bool) error {
	if supported {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "ListExtensions",
		Err: errors.New("this Neutron has neither of the extensions extraroute-atomic and extraroute: remove router-id " +
			"from section [Route]")}
}

func (s *Source) send(ctx context.Context, list []api.ExtraRoute, op operation, atomic bool) (api.Router, error) {
	switch {
	case atomic && op == add:
		return s.api.AddRoutes(ctx, s.routerID, list)
	case atomic:
		return s.api.RemoveRoutes(ctx, s.routerID, list)
	}
	all := slices.DeleteFunc(slices.Clone(s.router.Routes),
		func(r api.ExtraRoute) bool { return slices.Contains(list, r) })
	if op == add {
		all = append(all, list...)
	}
	return s.api.SetRoutes(ctx, s.routerID, s.router.RevisionNumber, all)
}

// hasExtension reports whether Neutron has one of the extensions.
func (s *Source) hasExtension(ctx context.Context, aliases ...string) (bool, error) {
	if s.extensions == nil {
		list, err := s.api.ListExtensions(ctx)
		if err != nil {
			return false, err
		}
		s.extensions = list
	}
	return slices.ContainsFunc(aliases, func(alias string) bool { return slices.Contains(s.extensions, alias) }), nil
}

// tagRouter tags the router with the cluster's routes before they are created. The tags matter only if a node and
// its server are deleted while no manager runs, so a failure is only logged.
func (s *Source) tagRouter(ctx context.Context, cluster string, desired []api.ExtraRoute) {
	now := s.clock.Now()
	if !s.tagsFailedAt.IsZero() && now.Sub(s.tagsFailedAt) < tagsRetryAfter {
		return
	}
	if supported, err := s.hasExtension(ctx, extensionTags, extensionOldTags); err != nil || !supported {
		return
	}
	prefix := names.RouteTagPrefixOf(cluster)
	tags := slices.DeleteFunc(slices.Clone(s.router.Tags), func(tag string) bool { return strings.HasPrefix(tag, prefix) })
	for _, r := range append(slices.Clone(desired), s.router.Routes...) {
		if slices.Contains(desired, r) || s.owned[r] {
			if tag := names.RouteTag(cluster, r.DestinationCIDR, r.NextHop); !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
	}
	if !slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(s.router.Tags, tag) }) {
		return
	}
	written, err := s.api.SetTags(ctx, api.Routers, s.routerID, tags)
	if err != nil {
		s.tagsFailedAt = now
		klog.FromContext(ctx).Info("Failed to tag the router; routes of nodes that are deleted while no manager runs "+
			"will remain", "router", s.routerID, "err", err)
		return
	}
	// Writing tags changes the revision, which the response does not contain.
	s.router.Tags, s.readAt = written, time.Time{}
}

// pairChange changes the allowed address pairs of a port. It reports whether they differ.
type pairChange func(pairs []api.AddressPair, destination string) ([]api.AddressPair, bool)

func addPair(pairs []api.AddressPair, destination string) ([]api.AddressPair, bool) {
	if slices.ContainsFunc(pairs, func(p api.AddressPair) bool { return p.IPAddress == destination }) {
		return pairs, false
	}
	return append(slices.Clone(pairs), api.AddressPair{IPAddress: destination}), true
}

func removePair(pairs []api.AddressPair, destination string) ([]api.AddressPair, bool) {
	// An empty list is sent, nil is not.
	remaining := slices.DeleteFunc(append([]api.AddressPair{}, pairs...),
		func(p api.AddressPair) bool { return p.IPAddress == destination })
	return remaining, len(remaining) != len(pairs)
}

func hasPair(port api.Port, destination string) bool {
	_, missing := addPair(port.AllowedAddressPairs, destination)
	return !missing
}

// portFinder returns ports by their addresses.
type portFinder func(ctx context.Context, addresses []string) (map[string]api.Port, error)

// updateAllPairs changes the ports at the next hops of all routes without an error.
func (s *Source) updateAllPairs(
	ctx context.Context, list []api.ExtraRoute, errs []error, find portFinder, change pairChange,
) {
	var nextHops []string
	for i, r := range list {
		if errs[i] == nil && r.NextHop != "" {
			nextHops = append(nextHops, r.NextHop)
		}
	}
	supported, err := s.hasExtension(ctx, extensionPairs)
	if err == nil && (!supported || len(nextHops) == 0) {
		return
	}
	var ports map[string]api.Port
	if err == nil {
		ports, err = find(ctx, nextHops)
	}
	if err != nil {
		copy(errs, slices.Repeat([]error{err}, len(errs)))
		return
	}
	// Two pod ranges of one node are two sequential changes of one port.
	byPort := map[string][]int{}
	for i, r := range list {
		if port, ok := ports[r.NextHop]; ok && errs[i] == nil {
			byPort[port.ID] = append(byPort[port.ID], i)
		}
	}
	var changes panics.Group
	changes.SetLimit(concurrentPorts)
	for _, indexes := range byPort {
		changes.Go(func() error {
			port := ports[list[indexes[0]].NextHop]
			for _, i := range indexes {
				port, errs[i] = s.updatePairs(ctx, port, list[i].DestinationCIDR, change)
			}
			return nil
		})
	}
	_ = changes.Wait() // each route has its own error
}

// updatePairs changes one port, on the condition that it has not changed since it was read. It returns the current
// port.
func (s *Source) updatePairs(
	ctx context.Context, port api.Port, destination string, change pairChange,
) (api.Port, error) {
	for attempt := 1; ; attempt++ {
		pairs, needed := change(port.AllowedAddressPairs, destination)
		if !needed || port.PortSecurity != nil && !*port.PortSecurity {
			return port, nil
		}
		updated, err := s.api.UpdatePort(ctx, port.ID, api.PortUpdate{
			AllowedAddressPairs: &pairs, RevisionNumber: &port.Revision,
		})
		if err == nil {
			s.ports.Put(updated)
			return updated, nil
		}
		s.ports.Invalidate(port)
		if cloudapi.Is(err, cloudapi.NotFound) {
			// The server is deleted; the next list shows it.
			return port, nil
		}
		if !oserr.IsRevisionConflict(err) || attempt == maxAttempts {
			return port, err
		}
		if port, err = s.api.GetPort(ctx, port.ID); err != nil {
			return port, err
		}
	}
}
