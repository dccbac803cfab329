package aws_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/orphantest"
	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// subject is the provider on a simulated cloud of its own, reached through AWS' APIs by AWS' SDK.
// Its Services get load balancers of the generation with that value of the annotation.
func subject(generation string, changes ...func(*sim.Options)) conformance.Subject {
	cannot := map[string]string{"forwarded headers": "network load balancers forward bytes"}
	if generation == "" {
		cannot = map[string]string{"UDP and TCP on one port": "classic load balancers do not support UDP"}
	}
	return conformance.Subject{
		Name:         aws.ProviderName,
		Capabilities: aws.Descriptor().Capabilities, Disruptions: aws.Descriptor().Disruptions,
		Portable:           aws.Descriptor().Portable,
		ServiceAnnotations: map[string]string{annotation.KeyType: generation},
		Unsupported:        cannot,
		TakeOver:           takeOver(generation),
		Sample:             1,
		New: func(t testing.TB) (conformance.World, conformance.Manager) {
			o := sim.Options{
				ProvisionTime: 3 * time.Second, DrainTime: 2 * time.Second, ReleaseTime: 2 * time.Second,
				// Random load makes more Services than the rules of one security group have room for by default.
				Quotas: map[string]int{sim.QuotaRulesPerGroup: 1000, sim.QuotaRoutesPerTable: 500},
			}
			for _, change := range changes {
				change(&o)
			}
			world, err := sim.New(o)
			if err != nil {
				t.Fatal(err)
			}
			return world, func(o conformance.ManagerOptions) (cloudprovider.Interface, error) {
				text := fmt.Sprintf("[Global]\nRegion = %s\nVPC = %s\nKubernetesClusterID = %s\n",
					world.Region(), world.VPC(), world.ClusterID())
				if o.OtherDefaults {
					text += "NLBSecurityGroupMode = Managed\n"
				}
				cfg, _, err := config.Read("", []byte(text))
				if err != nil {
					return nil, err
				}
				cloud, err := aws.NewCloud(cfg, aws.WithTransport(world.Front().Transport()),
					aws.WithCredentials(credentials.NewStaticCredentialsProvider("AKIASIMULATED", "simulated", "")))
				if err != nil {
					return nil, err
				}
				return guard.Wrap(cloud, guard.Options{DryRun: o.DryRun, Disruption: o.Disruption, Started: o.Started}), nil
			}
		},
	}
}

// generations are the values of the annotation that chooses one.
func generations() map[string]string { return map[string]string{"classic": "", "network": "nlb"} }

func TestConformance(t *testing.T) {
	for name, generation := range generations() {
		t.Run(name, func(t *testing.T) { conformance.Run(t, subject(generation)) })
	}
}

// TestConformanceWithinPublishedLimits runs in an account to which AWS has granted no more than it publishes.
func TestConformanceWithinPublishedLimits(t *testing.T) {
	for name, generation := range generations() {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, subject(generation, func(o *sim.Options) { o.Limits = sim.PublishedLimits() }))
		})
	}
}

func TestFaults(t *testing.T) {
	for name, generation := range generations() {
		t.Run(name, func(t *testing.T) { conformance.RunFaults(t, subject(generation)) })
	}
}

func TestRandomLoad(t *testing.T) {
	for name, generation := range generations() {
		t.Run(name, func(t *testing.T) { conformance.RunRandom(t, subject(generation)) })
	}
}

func TestOrphans(t *testing.T) {
	for name, generation := range generations() {
		t.Run(name, func(t *testing.T) {
			lists := map[string][]string{
				"DescribeLoadBalancers": {"classic listener", "load balancer"}, "DescribeTargetGroups": {"target group"},
				"DescribeSecurityGroups": {"security group", "security group rules"}, "DescribeRouteTables": {"route"},
			}
			if generation == "nlb" {
				lists["DescribeTags"] = []string{"load balancer", "target group"}
				lists["DescribeListeners"] = []string{"listener"}
			} else {
				lists["DescribeTags"] = []string{"classic listener", "load balancer"}
			}
			orphantest.Run(t, subject(generation), orphantest.Options{
				Lists:    lists,
				MaxLists: 40,
				// DescribeTags takes 20 load balancers or target groups.
				ServicesPerCall: 9,
				// Rules name their load balancer, which shows their cluster.
				LeftByHand: []string{"security group rule"},
				// AWS releases network interfaces some seconds after it has deleted their load balancer.
				LateKinds:          []string{"security group"},
				RefusesSameService: generation == "nlb",
			})
		})
	}
}
