// Package routes implements the Source of pkg/common/routes with the static routes of a Tier-1 gateway of NSX-T.
package routes

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	common "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// Options configure NewSource.
type Options struct {
	API api.NSXT
	// RouterPath is the path of the Tier-1 gateway.
	RouterPath string
	Nodes      *nodes.LazyLister
	// InstanceID returns the instance in a provider ID.
	InstanceID func(providerID string) (string, error)
	// ClusterUID returns "" until the manager runs, and where the UID cannot be read.
	ClusterUID func() string
}

// Source implements routes.Source. A route belongs to the cluster if it has its tags: those with the UID of the
// cluster, or those of an earlier manager with the name of the cluster and of a Node with the destination as a pod
// range.
type Source struct{ options Options }

// NewSource returns a Source. It makes no call.
func NewSource(o Options) *Source { return &Source{o} }

var _ common.Source = (*Source)(nil)

func (s *Source) list(ctx context.Context) ([]api.StaticRoute, error) {
	documents, err := s.options.API.List(ctx, api.StaticRoutes(s.options.RouterPath))
	if cloudapi.Is(err, cloudapi.NotFound) {
		return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "GET static-routes",
			Err: fmt.Errorf("router-path in section [Route]: %w", err)}
	}
	if err != nil {
		return nil, err
	}
	out := make([]api.StaticRoute, 0, len(documents))
	for _, document := range documents {
		r, err := api.ParseObject[api.StaticRoute](document)
		if err != nil {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "GET static-routes", Err: err}
		}
		out = append(out, r)
	}
	return out, nil
}

// List implements routes.Source.
func (s *Source) List(ctx context.Context, clusterName string) ([]common.Route, error) {
	found, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.options.Nodes.All()
	if err != nil {
		return nil, err
	}
	byIP := map[string]*v1.Node{}
	for _, node := range all {
		for _, a := range node.Status.Addresses {
			byIP[a.Address] = node
		}
	}
	out := make([]common.Route, 0, len(found))
	for _, r := range found {
		out = append(out, s.convert(clusterName, r, byIP, all))
	}
	return out, nil
}

// convert returns a route in the terms of package routes.
func (s *Source) convert(cluster string, r api.StaticRoute, byIP map[string]*v1.Node, all []*v1.Node) common.Route {
	out := common.Route{
		Name: r.Path, Destination: r.Network, Owned: s.isOwned(cluster, r, all), Created: r.Created(),
	}
	out.Marked = s.options.ClusterUID() != "" && r.Tag(names.TagClusterUID) == s.options.ClusterUID()
	for _, hop := range r.NextHops {
		if node := byIP[hop.IPAddress]; node != nil {
			out.NodeName = node.Name
			// A node with an invalid provider ID keeps its route.
			out.InstanceID, _ = s.options.InstanceID(node.Spec.ProviderID)
		}
	}
	out.Blackhole = out.NodeName == ""
	return out
}

// isOwned reports whether a route belongs to the cluster.
func (s *Source) isOwned(cluster string, r api.StaticRoute, all []*v1.Node) bool {
	if cluster == "" || r.Tag(names.TagRouteCluster) != cluster {
		return false
	}
	clusterUID, uid := s.options.ClusterUID(), r.Tag(names.TagClusterUID)
	if clusterUID != "" && uid != "" {
		return clusterUID == uid
	}
	return slices.ContainsFunc(all, func(node *v1.Node) bool {
		return node.Name == r.Tag(names.TagRouteNode) && hasRange(node, r.Network)
	}) || r.ID == s.routeID(cluster, r.Network)
}

// routeID returns the ID of the static route to a destination.
func (s *Source) routeID(cluster, destination string) string {
	if uid := s.options.ClusterUID(); uid != "" {
		cluster = uid
	}
	return names.RouteID(cluster, destination)
}

// hasRange reports whether the destination is one of the Node's pod ranges.
func hasRange(node *v1.Node, destination string) bool {
	return slices.ContainsFunc(node.Spec.PodCIDRs, func(cidr string) bool {
		p, err := netip.ParsePrefix(cidr)
		return err == nil && p.Masked().String() == destination
	})
}

// nextHop returns the first internal address of a Node in the family of the destination, or else the first external
// one.
func nextHop(node *v1.Node, destination string) string {
	p, err := netip.ParsePrefix(destination)
	if err != nil {
		return ""
	}
	for _, addressType := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, a := range node.Status.Addresses {
			ip, err := netip.ParseAddr(a.Address)
			if err == nil && a.Type == addressType && ip.Is4() == p.Addr().Is4() {
				return a.Address
			}
		}
	}
	return ""
}

// Create implements routes.Source.
func (s *Source) Create(ctx context.Context, clusterName string, list []common.Route) []error {
	errs := make([]error, len(list))
	all, err := s.options.Nodes.All()
	for i, r := range list {
		if errs[i] = err; err == nil {
			errs[i] = s.create(ctx, clusterName, r, all)
		}
	}
	return errs
}

func (s *Source) create(ctx context.Context, cluster string, r common.Route, all []*v1.Node) error {
	i := slices.IndexFunc(all, func(node *v1.Node) bool { return node.Name == r.NodeName })
	address := ""
	if i >= 0 {
		address = nextHop(all[i], r.Destination)
	}
	if address == "" {
		return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "PUT static-routes",
			Err: fmt.Errorf("the node of the route to %s has no address of its family yet", r.Destination)}
	}
	node := all[i].Name
	want := api.StaticRoute{Network: r.Destination, NextHops: []api.NextHop{{IPAddress: address, AdminDistance: 1}}}
	want.DisplayName = names.RouteDisplay(cluster, node, r.Destination)
	want.Tags = []api.NSXTag{{Scope: names.TagRouteCluster, Tag: cluster}, {Scope: names.TagRouteNode, Tag: node}}
	if uid := s.options.ClusterUID(); uid != "" {
		want.Tags = append(want.Tags, api.NSXTag{Scope: names.TagClusterUID, Tag: uid})
	}
	path := api.StaticRoutes(s.options.RouterPath) + "/" + s.routeID(cluster, r.Destination)
	err := s.put(ctx, path, want)
	if !cloudapi.Is(err, cloudapi.Conflict) {
		return err
	}
	// The ID exists: an earlier creation lost its response, or its node had another address.
	found, listErr := s.list(ctx)
	if listErr != nil {
		return listErr
	}
	for _, have := range found {
		if have.Path == path && s.isOwned(cluster, have, all) {
			have.NextHops, have.Tags, have.DisplayName = want.NextHops, want.Tags, want.DisplayName
			return s.put(ctx, path, have)
		}
	}
	return err
}

func (s *Source) put(ctx context.Context, path string, r api.StaticRoute) error {
	document, err := api.EncodeObject(r)
	if err != nil {
		return err
	}
	_, err = s.options.API.Put(ctx, path, document)
	return err
}

// Delete implements routes.Source.
func (s *Source) Delete(ctx context.Context, _ string, list []common.Route) []error {
	errs := make([]error, len(list))
	for i, r := range list {
		errs[i] = cloudapi.IgnoreNotFound(s.options.API.Delete(ctx, r.Name))
	}
	return errs
}
