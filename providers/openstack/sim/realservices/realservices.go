// Package realservices adapts a real OpenStack to the conformance suite and ccm-lab: its own project, and the
// front, with call log and faults, as a proxy before its services.
//
// It is for clouds without valuable data, such as the one that hack/openstack-lab starts: it needs an
// administrator.
package realservices

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"sync"
	"time"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// Options of a real cloud.
type Options struct {
	// Dir has the administrator's credentials in a file openrc-admin, as hack/openstack-lab writes it.
	Dir string
	// Spares is the number of servers that are booted in advance and concurrently, which is many times faster
	// than one by one. They count as machines only when they are launched.
	Spares int
	// IPv6 adds an IPv6 subnet to the machines' network.
	IPv6 bool
	// Latency, Seed and ErrorRate are options of the front.
	Latency   time.Duration
	Seed      int64
	ErrorRate float64
}

// Cloud is one project of a real cloud. It is safe for concurrent use.
type Cloud struct {
	front *kit.Front
	// admin creates and deletes the project, and tenant is its user.
	admin, tenant *session
	places        places

	mu      sync.Mutex
	foreign map[string]bool // destinations of foreign routes
	spares  []string        // booted servers for machines
	users   []string        // IDs of the project's users
}

var _ world.World = (*Cloud)(nil)

// places are the IDs of the fixtures of a project.
type places struct {
	project, public, network, subnet, router, flavor, image string
}

// changeTimeout bounds one change: many minutes, because the services of a lab share few processors.
const changeTimeout = 15 * time.Minute

// credentials is the file that Options.Dir must have.
const credentials = "openrc-admin"

var exported = regexp.MustCompile(`(?m)^export (\w+)='(.*)'$`)

func readCredentials(path string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the administrator of the real services: %w; hack/openstack-lab writes such a file", err)
	}
	out := map[string]string{}
	for _, m := range exported.FindAllStringSubmatch(string(content), -1) {
		out[m[1]] = m[2]
	}
	for _, name := range []string{"OS_AUTH_URL", "OS_USERNAME", "OS_PASSWORD", "OS_PROJECT_NAME"} {
		if out[name] == "" {
			return nil, fmt.Errorf("%s does not export %s", path, name)
		}
	}
	return out, nil
}

// Front implements world.World: clients that log in at its /identity/v3 find all services behind it.
func (c *Cloud) Front() *kit.Front { return c.front }

// CloudConfig returns the cloud.conf of a manager for the project, which reaches the front at endpoint, a URL.
func (c *Cloud) CloudConfig(endpoint string) string {
	return fmt.Sprintf(`[Global]
auth-url = %q
username = %q
password = %q
tenant-name = %q
domain-name = "Default"
region = %q

[LoadBalancer]
subnet-id = %q
floating-network-id = %q
create-monitor = true

[Route]
router-id = %q
`, endpoint+"/identity/v3", c.tenant.user, c.tenant.password, c.tenant.project, region, c.places.subnet,
		c.places.public, c.places.router)
}

// withTimeout returns the context of one change.
func withTimeout() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), changeTimeout)
}

// pollEvery is the interval of polls for a change.
const pollEvery = 300 * time.Millisecond

// poll calls a function until it reports true or an error.
func poll(ctx context.Context, subject string, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", subject, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}
