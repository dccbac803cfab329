package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// reachable is a toy cloud whose members are addresses.
type reachable struct{ *toy }

func (c reachable) Desired(key Key, in intent.Service, nodes []*v1.Node, around string) (objects, error) {
	var with []*v1.Node
	for _, n := range nodes {
		for _, a := range n.Status.Addresses {
			if a.Type == v1.NodeInternalIP {
				with = append(with, node(a.Address))
			}
		}
	}
	return c.toy.Desired(key, in, with, around)
}

// The framework syncs load balancers when a node has its provider ID, which is before it has addresses, and
// does not come back when it gets them.
func TestNodesWithoutAddressesInStatus(t *testing.T) {
	unreachable := errors.New("the cloud does not answer")
	known := func(address string) []v1.NodeAddress {
		return []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}
	}
	joined := func(name string) *v1.Node {
		n := node(name)
		n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeHostName, Address: name}}
		return n
	}
	written := joined("written")
	written.Status.Addresses = append(written.Status.Addresses, known("10.0.0.1")...)

	tests := []struct {
		name          string
		addresses     map[string][]v1.NodeAddress
		err           error
		nodes         []*v1.Node
		want          string
		wantErr       error
		wantRequested []string
	}{
		{name: "written addresses are not requested", nodes: []*v1.Node{written}, want: "10.0.0.1"},
		{
			name: "the cloud knows them already", nodes: []*v1.Node{written, joined("new")},
			addresses: map[string][]v1.NodeAddress{"new": known("10.0.0.2")},
			want:      "10.0.0.1,10.0.0.2", wantRequested: []string{"new"},
		},
		{
			name: "no instance, no member", nodes: []*v1.Node{written, joined("gone")}, err: cloudprovider.InstanceNotFound,
			want: "10.0.0.1", wantRequested: []string{"gone"},
		},
		{
			name: "no answer is an error, so that the framework comes back", nodes: []*v1.Node{written,
				joined("new")}, err: unreachable,
			wantErr: unreachable, wantRequested: []string{"new"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cloud := reachable{&toy{have: objects{}}}
			var requested []string
			c := New[string, objects, objects](Options{
				Provider: "toy", Vocabulary: intent.Vocabulary{Portable: intent.Keys()},
				NodeAddresses: func(_ context.Context, n *v1.Node) ([]v1.NodeAddress, error) {
					if !slices.Contains(requested, n.Name) {
						requested = append(requested, n.Name)
					}
					return tt.addresses[n.Name], tt.err
				},
			}, cloud)
			_, err := c.EnsureLoadBalancer(t.Context(), "prod", web(), tt.nodes)
			if !errors.Is(err, tt.wantErr) {
				t.Fatalf("error %v, want %v", err, tt.wantErr)
			}
			if !slices.Equal(requested, tt.wantRequested) {
				t.Errorf("requested addresses of %v, want %v", requested, tt.wantRequested)
			}
			for _, n := range tt.nodes {
				if n != written && len(n.Status.Addresses) > 1 {
					t.Errorf("the informer's node %s was written to", n.Name)
				}
			}
			if got := cloud.have[ref("pool", "lb-web/80-TCP")]; got != tt.want {
				t.Errorf("members %q, want %q", got, tt.want)
			}
		})
	}
}

// listerOf returns a lister of these nodes.
func listerOf(t *testing.T, list ...*v1.Node) *nodes.LazyLister {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, n := range list {
		if err := indexer.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	var lister nodes.LazyLister
	lister.Set(corelisters.NewNodeLister(indexer), nil)
	return &lister
}

// Every call decides alike which nodes count, whatever list of nodes it gets.
func TestOnlyEligibleNodesAreMembers(t *testing.T) {
	optedOut, excluded, leaving := node("out"), node("excluded"), node("leaving")
	optedOut.Labels = map[string]string{provider.ManagedLabel: "false"}
	excluded.Labels = map[string]string{v1.LabelNodeExcludeBalancers: ""}
	leaving.Spec.Taints = []v1.Taint{{Key: nodes.TaintToBeDeleted}}
	all := []*v1.Node{node("mine"), node("foreign"), node("unknown"), optedOut, excluded, leaving}
	owns := func(n *v1.Node) provider.Ownership {
		owners := map[string]provider.Ownership{"foreign": provider.Foreign, "unknown": provider.Unknown}
		if owner, ok := owners[n.Name]; ok {
			return owner
		}
		return provider.Mine
	}
	for name, given := range map[string][]*v1.Node{"all nodes": all, "an old list": {node("gone")}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.OwnsNode = owns })
			if name == "an old list" {
				f.options.Nodes = listerOf(t, all...)
			}
			before := slices.Clone(given)
			members := func() string { return f.cloud.have[ref("pool", "lb-web/80-TCP")] }
			f.mustEnsure(t, web(), given...)
			if got := members(); got != "mine" {
				t.Errorf("Ensure: members %q", got)
			}
			f.cloud.have[ref("pool", "lb-web/80-TCP")] = "mine,old"
			if err := f.UpdateLoadBalancer(t.Context(), "prod", web(), given); err != nil || members() != "mine" {
				t.Errorf("Update: members %q, error %v", members(), err)
			}
			f.cloud.have[ref("pool", "lb-web/80-TCP")] = "mine,old"
			_, _, err := f.AuditLoadBalancer(t.Context(), "prod", func() (*v1.Service, []*v1.Node) { return web(), all })
			if err != nil || members() != "mine" {
				t.Errorf("Audit: members %q, error %v", members(), err)
			}
			f.converged(t, web(), all...)
			if !slices.Equal(before, given) {
				t.Error("the framework's slice was changed")
			}
		})
	}
}
