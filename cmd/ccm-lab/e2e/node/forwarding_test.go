package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/providers/fake"
)

// poolRange is a range of addresses that the tests have a route to, by way of a node.
const poolRange = "192.0.2.0/24"

// TestForwarding does what docs/guides/kind.md describes: the cloud is in the manager's pod, and kube-proxy forwards the
// traffic of its load balancers.
func TestForwarding(t *testing.T) {
	c := newCluster(t, fake.ProviderName, 1)
	c.apply(echo)
	c.step("installing the chart with the preset as it is")
	_, err := c.helm("install", release, chart(), "--values="+chart()+"/presets/fake.yaml", "--set=image.tag="+version,
		"--wait", "--timeout=3m")
	c.must(err)
	c.await("a node without the taint", func(ctx context.Context) error {
		node, err := c.node(ctx, "node-1")
		if err == nil && tainted(node, cloudproviderapi.TaintExternalCloudProvider) {
			err = errors.New("it has the taint uninitialized")
		}
		return err
	})
	c.startPodNetworks()
	c.awaitReady("default", "app=web", 1)
	address := c.awaitAddress("198.51.100.")
	c.step("request to http://%s on the node", address)
	c.await("an answer on the node", func(ctx context.Context) error {
		_, err := run(ctx, "nsenter", "--net="+c.machines["node-1"].namespace(), "curl", "--silent", "--fail",
			"--max-time", "5", "http://"+address)
		return err
	})

	c.step("upgrading to addresses that another machine has a route to")
	m := c.machines["node-1"]
	_, err = run(t.Context(), "ip", "route", "add", poolRange, "via", m.address, "dev", m.link(), "onlink", "src", planeAddress)
	c.must(err)
	path := c.plane.file("fake.conf")
	c.must(os.WriteFile(path, []byte("[Global]\naddress-pool = "+poolRange+"\n"), 0o600))
	_, err = c.helm("upgrade", release, chart(), "--reset-then-reuse-values", "--set-file=cloudConfig.content="+path,
		"--wait", "--timeout=3m")
	c.must(err)
	address = c.awaitAddress("192.0.2.")
	c.step("request to http://%s from another machine", address)
	c.await("an answer from outside of the node", func(ctx context.Context) error {
		_, err := get(ctx, "http://"+address)
		return err
	})
}

// awaitAddress waits until the Service has an address with a prefix, and returns it.
func (c *cluster) awaitAddress(prefix string) (address string) {
	c.t.Helper()
	c.await("an address in "+prefix, func(ctx context.Context) (err error) {
		if address, err = c.addressOf(ctx, "web"); err == nil && !strings.HasPrefix(address, prefix) {
			err = fmt.Errorf("the address is %s", address)
		}
		return err
	})
	return address
}
