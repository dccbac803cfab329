package guard

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

const (
	// maxPeers is the number of Ready nodes whose instances are looked up. Those of machines that were just deleted are
	// Ready for up to forty seconds, so that one is not enough.
	maxPeers = 3
	// peersAge is how long an answer about them counts.
	peersAge = 30 * time.Second
)

// peerChecker looks up the instances of Ready nodes. A cloud that finds none of them answers for another project,
// region or account: what it does not find may exist.
type peerChecker interface {
	// missingPeers returns the names of Ready nodes whose instances the cloud does not find, by reads that started at
	// since or later: none if it finds one of them, or if there are no such nodes. An error says nothing about them.
	missingPeers(ctx context.Context, since time.Time) ([]string, error)
}

// peers are the Ready nodes of a cloud.
type peers struct {
	*shared
	inner   cloudprovider.InstancesV2
	missing *snapshot.Value[[]string]
	// next rotates the choice of nodes. Reads are serialized.
	next int
}

func newPeers(s *shared, inner cloudprovider.InstancesV2) peerChecker {
	if checker, ok := inner.(peerChecker); ok {
		return checker
	}
	p := &peers{shared: s, inner: inner}
	p.missing = snapshot.NewValue(snapshot.ValueOptions[[]string]{Clock: s.clock, Read: p.read})
	return p
}

// missingPeers implements peerChecker.
func (p *peers) missingPeers(ctx context.Context, since time.Time) ([]string, error) {
	if oldest := p.clock.Now().Add(-peersAge); since.Before(oldest) {
		since = oldest
	}
	return p.missing.GetSince(ctx, since)
}

func (p *peers) read(ctx context.Context) ([]string, error) {
	ready, err := p.ready()
	if err != nil {
		return nil, err
	}
	var missing []string
	for range min(maxPeers, len(ready)) {
		p.next++
		node := ready[p.next%len(ready)]
		exists, err := p.instanceExists(ctx, freshExists(p.inner), node)
		if err != nil || exists {
			return nil, err
		}
		missing = append(missing, node.Name)
	}
	return missing, nil
}

// ready returns the Ready nodes of the cloud, by name. Without an informer, as in plans from files, there are none.
func (p *peers) ready() ([]*v1.Node, error) {
	lister := p.nodes.Lister()
	if lister == nil {
		return nil, nil
	}
	all, err := lister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(node *v1.Node) bool {
		return !nodes.IsReady(node) || node.DeletionTimestamp != nil || p.ownership(node) != provider.Mine
	})
	slices.SortFunc(all, func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}
