// Package testcloud runs tests of the provider against a simulated OpenStack in the same process.
package testcloud

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	commonconfig "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
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

// Global returns the section [Global] with an application credential of the cloud.
func (c *Cloud) Global() config.Global {
	a := c.Account()
	return config.Global{
		AuthURL: URL, Region: a.Region,
		ApplicationCredentialID:     a.ApplicationCredentialID,
		ApplicationCredentialSecret: commonconfig.Secret(a.ApplicationCredentialSecret),
		RequestTimeout:              commonconfig.Duration{Duration: 10 * time.Second},
	}
}

// Config returns a cloud.conf with the section [Global] of Global, followed by more lines.
func (c *Cloud) Config(lines string) config.Config {
	c.T.Helper()
	a := c.Account()
	return Read(c.T, fmt.Sprintf(
		"[Global]\nauth-url = %s\napplication-credential-id = %s\napplication-credential-secret = %s\nregion = %s\n%s",
		URL, a.ApplicationCredentialID, a.ApplicationCredentialSecret, a.Region, lines))
}

// Read returns a valid configuration.
func Read(t *testing.T, content string) config.Config {
	t.Helper()
	cfg, _, err := config.Read("cloud.conf", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
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
