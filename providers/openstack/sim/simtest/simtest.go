// Package simtest runs tests of the provider against a simulated OpenStack in the same process.
package simtest

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// URL is Keystone of the simulated cloud. Its name is never resolved.
const URL = "http://openstack.invalid/identity/v3"

// Cloud is a simulated cloud in a test.
type Cloud struct {
	*sim.Cloud
	T *testing.T
}

// New starts a simulated cloud.
func New(t *testing.T, o sim.Options) *Cloud {
	t.Helper()
	cloud, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &Cloud{Cloud: cloud, T: t}
}

// Config returns a cloud.conf with an application credential of the cloud in its section [Global], followed by
// more lines.
func (c *Cloud) Config(lines string) string {
	c.T.Helper()
	a := c.Account()
	return fmt.Sprintf(
		"[Global]\nauth-url = %s\napplication-credential-id = %s\napplication-credential-secret = %s\nregion = %s\n%s",
		URL, a.ApplicationCredentialID, a.ApplicationCredentialSecret, a.Region, lines)
}

// Launch starts n servers and returns their nodes, which are not initialized.
func (c *Cloud) Launch(n int) []*v1.Node {
	c.T.Helper()
	var nodes []*v1.Node
	for i := range n {
		cidr := fmt.Sprintf("10.%d.%d.0/24", 128+i/256, i%256)
		node, err := c.Cloud.Launch(world.Machine{Name: fmt.Sprintf("node-%d", i), PodCIDRs: []string{cidr}})
		if err != nil {
			c.T.Fatal(err)
		}
		node.UID = "" // the API server sets it
		nodes = append(nodes, node)
	}
	c.Front().Log().Reset()
	return nodes
}

// Initialize sets the provider IDs of nodes and removes their taints, as the node controller does.
func (c *Cloud) Initialize(nodes []*v1.Node) {
	c.T.Helper()
	for _, node := range nodes {
		node.Spec.ProviderID = "openstack:///" + c.Server(node.Name)
		node.Spec.Taints = nil
	}
}

// WantCalls fails the test if more than limit calls were made since the log was reset, and resets it.
func (c *Cloud) WantCalls(limit int) {
	c.T.Helper()
	log := c.Front().Log()
	c.T.Logf("%d calls: %v", log.Len(), log.Count())
	if log.Len() > limit {
		c.T.Errorf("%d calls %v, want at most %d", log.Len(), log.Count(), limit)
	}
	log.Reset()
}
