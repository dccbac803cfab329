package ccmapp

import (
	"context"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/cmd/internal/lease"
)

// A pod gets 30 seconds by default between SIGTERM and SIGKILL. The sum of these fits into them.
const (
	// callsTimeout is the time for calls in flight to end.
	callsTimeout = 20 * time.Second
	// releaseTimeout is the time to release the lease.
	releaseTimeout = 3 * time.Second
)

// leaseReleaser returns the function that releases the leases of this process.
func leaseReleaser(config *appconfig.CompletedConfig, c clock.PassiveClock) func(context.Context) error {
	generic := config.ComponentConfig.Generic
	return func(ctx context.Context) error {
		client, err := kubernetes.NewForConfig(config.Kubeconfig)
		if err != nil {
			return err
		}
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		// The framework's identity of a leader is the name of its host and a random part.
		return lease.Release(ctx, client.CoordinationV1(), generic.LeaderElection.ResourceNamespace,
			generic.LeaderElection.ResourceName, host+"_", c)
	}
}

// markTimeout bounds the calls that mark the lease. Controllers start after them.
const markTimeout = 10 * time.Second

// markLease marks the lease of the leader, and returns since when no other manager has led. If that is unknown, it is
// since now.
func markLease(ctx context.Context, config *appconfig.CompletedConfig) (since string) {
	logger := klog.FromContext(ctx)
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	election := config.ComponentConfig.Generic.LeaderElection
	since, err := lease.Mark(ctx, config.Client.CoordinationV1(), election.ResourceNamespace, election.ResourceName)
	if err != nil {
		logger.Error(err, "Failed to mark the lease: edits of Services that were made before the start cause no disruption",
			"lease", election.ResourceName)
		return string(uuid.NewUUID())
	}
	logger.Info("No other manager has led since the leader: edits of Services that were seen last before it cause no "+
		"disruption", "lease", election.ResourceName, "leader", since)
	return since
}
