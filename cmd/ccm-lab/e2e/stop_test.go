package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

// TestStopReleasesLease stops the leader while it creates load balancers. It ends without an error, its lease has no
// holder then, and another manager finishes the work without duplicates.
func TestStopReleasesLease(t *testing.T) {
	t.Parallel()
	c := newCluster(t, setup{noRoutes: true, flags: []string{"--leader-elect=true"}})
	c.must(c.session.JoinN(t.Context(), 2))
	leader := c.replica(0)
	c.awaitLeader("")
	before := c.lastCall()
	for i := range 6 {
		c.must(c.session.Put(t.Context(), service(fmt.Sprintf("web-%d", i), 80, 443)))
	}
	c.eventually("a first change", func(context.Context) error {
		for _, call := range c.calls(before) {
			if call.Mutating {
				return nil
			}
		}
		return fmt.Errorf("there is none in %d calls", len(c.calls(before)))
	})
	leader.Stop(t.Context())
	if err := leader.Err(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
	lease, err := c.plane.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), leaseName, metav1.GetOptions{})
	c.must(err)
	if holder := *lease.Spec.HolderIdentity; holder != "" {
		t.Errorf("the lease is still held by %s", holder)
	}
	c.replica(1)
	c.awaitLeader("")
	c.converge()
	c.clear()
}

// TestRejectedCredentialsDoNotEndTheProcess: a process that ends with rejected credentials is restarted with the same
// ones, and each restart is one more failed login, until the account is locked.
func TestRejectedCredentialsDoNotEndTheProcess(t *testing.T) {
	t.Parallel()
	port, err := lab.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, setup{noRoutes: true})
	options := c.live.Options
	options.CloudConfig = c.write("wrong.conf", "[Global]\nendpoint = "+c.guardedCloud("right")+"\ntoken = hunter2\n")
	options.Args = append(options.Args, "--leader-elect=true", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port))
	options.Log = c.log("rejected.log")
	manager, err := lab.StartManager(options)
	c.must(err)
	t.Cleanup(manager.Kill)
	url := fmt.Sprintf("https://127.0.0.1:%d", port)
	c.eventually("the manager to serve", func(ctx context.Context) error {
		_, err := lab.GetFromManager(ctx, port, "/livez")
		return err
	})
	c.request(t.Context(), url+"/livez", http.StatusOK)
	body := c.request(t.Context(), url+"/readyz?verbose", http.StatusServiceUnavailable)
	for _, want := range []string{"Fake rejects the credentials", "renew those in " + options.CloudConfig} {
		if !strings.Contains(body, want) {
			t.Errorf("/readyz?verbose lacks %q:\n%s", want, body)
		}
	}
	if strings.Contains(body, "hunter2") {
		t.Error("/readyz?verbose has the secret")
	}
	if _, err := c.plane.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), leaseName,
		metav1.GetOptions{}); err == nil {
		t.Error("a manager without accepted credentials takes part in the leader election")
	}
	manager.Stop(t.Context())
	if err := manager.Err(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
}
