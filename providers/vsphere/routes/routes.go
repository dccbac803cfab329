// Package routes implements the Source of pkg/common/routes with the static routes of a Tier-1 gateway of NSX-T.
package routes

import (
	"cmp"
	"context"
	"errors"
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

// maxIDs bounds the IDs that are tried for a route.
const maxIDs = 10

// Options configure NewSource.
type Options struct {
	API api.NSXT
	// RouterPath is the path of the Tier-1 gateway.
	RouterPath string
	Nodes      *nodes.LazyLister
	// Targets finds the machines of nodes.
	Targets Targets
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
	index := common.IndexNodes(all)
	out := make([]common.Route, 0, len(found))
	for _, r := range found {
		out = append(out, s.convert(ctx, clusterName, r, index))
	}
	return out, nil
}

// convert returns a route in the terms of package routes.
func (s *Source) convert(
	ctx context.Context, cluster string, r api.StaticRoute, index *common.NodeIndex,
) common.Route {
	out := common.Route{
		Name: r.Path, Destination: r.Network, Owned: s.isOwned(cluster, r, index), Created: r.Created(),
	}
	out.Marked = s.options.ClusterUID() != "" && r.Tag(names.TagClusterUID) == s.options.ClusterUID()
	if node := s.nodeOf(ctx, r, out.Owned, index); node != nil {
		out.NodeName = node.Name
		// A node with an invalid provider ID keeps its route.
		out.InstanceID, _ = s.options.Targets.InstanceID(node.Spec.ProviderID)
	}
	out.Blackhole = out.NodeName == ""
	return out
}

// nodeOf returns the Node that a route leads to, or nil. Of an owned route whose Node does not have the next hop in its
// status, the machine decides: the Node keeps the route unless the vCenter shows other addresses.
func (s *Source) nodeOf(ctx context.Context, r api.StaticRoute, owned bool, index *common.NodeIndex) *v1.Node {
	var last *v1.Node
	for _, hop := range r.NextHops {
		node, certain := index.At(r.Network, hop.IPAddress)
		holders := index.WithCIDR(r.Network)
		if certain && len(holders) > 0 {
			return node
		}
		if node != nil {
			last = node
		}
		if !owned {
			continue
		}
		for _, holder := range holders {
			if has, err := s.options.Targets.hasAddress(ctx, holder, hop.IPAddress); has || err != nil {
				return holder
			}
		}
	}
	return last
}

// isOwned reports whether a route belongs to the cluster.
func (s *Source) isOwned(cluster string, r api.StaticRoute, index *common.NodeIndex) bool {
	if cluster == "" || r.Tag(names.TagRouteCluster) != cluster {
		return false
	}
	clusterUID, uid := s.options.ClusterUID(), r.Tag(names.TagClusterUID)
	if clusterUID != "" && uid != "" {
		return clusterUID == uid
	}
	return slices.ContainsFunc(index.WithCIDR(r.Network), func(node *v1.Node) bool {
		return node.Name == r.Tag(names.TagRouteNode)
	}) || names.IsIDOf(r.ID, s.idParts(cluster, r.Network)...)
}

// idParts returns the parts of the ID of the static route to a destination.
func (s *Source) idParts(cluster, destination string) []string {
	return names.RouteParts(cmp.Or(s.options.ClusterUID(), cluster), destination)
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
	index := common.IndexNodes(all)
	for i, r := range list {
		if errs[i] = err; err == nil {
			errs[i] = s.create(ctx, clusterName, r, index)
		}
	}
	return errs
}

// nextHopOf returns the address of the node of a route. A kubelet writes the addresses of its Node, so that the machine
// must have it too.
func (s *Source) nextHopOf(ctx context.Context, r common.Route, node *v1.Node) (string, error) {
	address := ""
	if node != nil {
		address = nextHop(node, r.Destination)
	}
	if address == "" {
		return "", &cloudapi.Error{Class: cloudapi.Conflict, Operation: "PUT static-routes",
			Err: fmt.Errorf("the node of the route to %s has no address of its family yet", r.Destination)}
	}
	has, err := s.options.Targets.hasAddress(ctx, node, address)
	if err == nil && !has {
		err = &cloudapi.Error{Class: cloudapi.Invalid, Operation: "PUT static-routes",
			Err: fmt.Errorf("the machine of node %s does not have the address %s, which the status of the node has",
				node.Name, address)}
	}
	return address, err
}

func (s *Source) create(ctx context.Context, cluster string, r common.Route, index *common.NodeIndex) error {
	address, err := s.nextHopOf(ctx, r, index.Named(r.NodeName))
	if err != nil {
		return err
	}
	node := r.NodeName
	want := api.StaticRoute{Network: r.Destination, NextHops: []api.NextHop{{IPAddress: address, AdminDistance: 1}}}
	want.DisplayName = names.RouteDisplay(cluster, node, r.Destination)
	want.Tags = []api.NSXTag{{Scope: names.TagRouteCluster, Tag: cluster}, {Scope: names.TagRouteNode, Tag: node}}
	if uid := s.options.ClusterUID(); uid != "" {
		want.Tags = append(want.Tags, api.NSXTag{Scope: names.TagClusterUID, Tag: uid})
	}
	path, err := s.putNew(ctx, cluster, want)
	if !cloudapi.Is(err, cloudapi.Conflict) {
		return err
	}
	// The ID exists: an earlier creation lost its response, or its node had another address.
	found, listErr := s.list(ctx)
	if listErr != nil {
		return listErr
	}
	for _, have := range found {
		if have.Path == path && s.isOwned(cluster, have, index) {
			have.NextHops, have.Tags, have.DisplayName = want.NextHops, want.Tags, want.DisplayName
			return s.put(ctx, path, have)
		}
	}
	return err
}

// putNew creates a route, and returns its path. A route to the same destination that was deleted a short time ago still
// has its ID.
func (s *Source) putNew(ctx context.Context, cluster string, want api.StaticRoute) (path string, err error) {
	parts := s.idParts(cluster, want.Network)
	marked := map[string]bool{}
	for range maxIDs {
		id := names.FreeID(func(id string) bool { return marked[id] }, parts...)
		path = api.StaticRoutes(s.options.RouterPath) + "/" + id
		if err = s.put(ctx, path, want); !errors.Is(err, api.ErrMarkedForDeletion) {
			return path, err
		}
		marked[id] = true
	}
	return path, err
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
