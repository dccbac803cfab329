package lab

import (
	"cmp"
	"os"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	awssim "github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// awsBalancers returns both generations. The lab shows network load balancers, because classic ones do not
// support UDP; conformance also covers classic ones, which a Service without annotations gets.
func awsBalancers() []BalancerKind {
	return []BalancerKind{
		{Name: "network", ServiceAnnotations: map[string]string{annotation.KeyType: "nlb"},
			Unsupported: map[string]string{"forwarded headers": "network load balancers forward bytes"}},
		{Name: "classic",
			Unsupported: map[string]string{"UDP and TCP on one port": "classic load balancers do not support UDP"}},
	}
}

// awsLatency is the typical duration of a call to EC2 or Elastic Load Balancing within its region.
const awsLatency = 100 * time.Millisecond

// awsBudgets are the targets that the provider's tests assert too. Those of Services are for network load
// balancers with two ports and up to 100 nodes, which is what one call registers.
func awsBudgets(nodes, services int) map[string]Budget {
	// EC2 answers with up to 1,000 instances at a time, and Elastic Load Balancing with up to 400 target groups.
	pages, groupPages := (nodes+999)/1000, (2*services+399)/400
	return map[string]Budget{
		// More nodes also take longer to register, and share more lists, each of all pages.
		PhaseJoin:      {Calls: 12*pages + 15*(pages-1)},
		PhaseRefresh:   {Calls: pages + 1},
		PhaseCreateOne: {Calls: 10},
		PhaseDeleteOne: {Calls: 9 + 2*(groupPages-1)},
		// The registrations, and the reads that identify the load balancers. AWS grants ten registrations a second, and
		// a list is read again after half a minute.
		PhaseAddNode: {Calls: 2*services + 20 + 10*(groupPages-1)},
		// Listeners, attributes and two lists of targets for each.
		PhaseRestart:      {Calls: 4*services + 20, ReadOnly: true, Seconds: 10},
		PhaseRestartAgain: {Calls: services + 50, ReadOnly: true},
		// The limit is 300 calls a day. A read of the routes, at most one a minute, is two calls.
		PhaseIdle: {Calls: 2, ReadOnly: true},
	}
}

// newAWS has no data plane and no state file: these options have no effect.
func newAWS(o SimulatorOptions) (conformance.World, func() error, error) {
	options := awssim.Options{Latency: o.Latency, ProvisionTime: o.ProvisionTime, Seed: o.Seed, ErrorRate: o.ErrorRate,
		IPv6: o.IPv6, PrimaryIPv6: o.IPv6,
		// Room for the benchmark: each network load balancer without a group of its own needs rules on the nodes' group.
		Quotas: map[string]int{awssim.QuotaRulesPerGroup: 10_000, awssim.QuotaTargetsPerBalancer: 10_000,
			awssim.QuotaTargetsPerGroup: 10_000}}
	if o.Token != "" {
		options.AccessKeys = []string{o.Token}
	}
	// Managers take their credentials from the environment, which they inherit from this process. Real
	// credentials are never sent to a simulation.
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey(o), "AWS_SECRET_ACCESS_KEY": "simulated", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "",
	} {
		if err := os.Setenv(name, value); err != nil {
			return nil, nil, err
		}
	}
	cloud, err := awssim.New(options)
	if err != nil {
		return nil, nil, err
	}
	return cloud, func() error { return nil }, nil
}

// awsConfig returns a cloud.conf with a comment about credentials, which the lab puts into the environment.
func awsConfig(endpoint string, world conformance.World, o SimulatorOptions) string {
	cloud, ok := world.(*awssim.Cloud)
	if !ok {
		return ""
	}
	return "# Credentials come from the environment: AWS_ACCESS_KEY_ID=" + accessKey(o) +
		" AWS_SECRET_ACCESS_KEY=simulated\n" + withFamilies(cloud.CloudConfig(endpoint), o)
}

// accessKey returns the ID of the key that the lab signs with: the caller's token, or a default for a
// simulation that accepts any.
func accessKey(o SimulatorOptions) string { return cmp.Or(o.Token, "AKIASIMULATED") }

// withFamilies adds the families of the nodes' addresses of a dual-stack cluster.
func withFamilies(config string, o SimulatorOptions) string {
	if !o.IPv6 {
		return config
	}
	const global = "[Global]\n"
	return strings.Replace(config, global, global+"NodeIPFamilies = ipv4\nNodeIPFamilies = ipv6\n", 1)
}
