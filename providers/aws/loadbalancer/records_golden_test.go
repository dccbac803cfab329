package loadbalancer

import (
	"net/netip"
	"strings"
	"testing"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/recordtest"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/classic"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Records that another release has stored keep proving what it applied.
func TestRecordsAreStable(t *testing.T) {
	t.Parallel()
	node := func(id, address string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: id}, Spec: v1.NodeSpec{ProviderID: id},
			Status: v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}}}
	}
	subnet := func(id, zone, cidr string) vpc.Subnet {
		return vpc.Subnet{ID: id, Zone: zone, VPC: "vpc-1", CIDR4: netip.MustParsePrefix(cidr), Public: true,
			ClusterTagged: true, RoleELB: true, RoleInternal: true, ZoneType: "availability-zone"}
	}
	cluster := vpc.Cluster{ID: "prod"}
	shared := SharedState{
		SharedState: vpc.SharedState{VPC: "vpc-1", Cluster: cluster, Instances: map[string]*ec2types.Instance{},
			Subnets: []vpc.Subnet{subnet("subnet-a", "a", "10.0.1.0/24"), subnet("subnet-b", "b", "10.0.2.0/24")}},
		generations: &generations{classic: classic.New(classic.Options{VPC: "vpc-1", Cluster: cluster}), cluster: cluster},
	}
	cloud := New(Options{InstanceID: func(id string) (string, error) { return strings.TrimPrefix(id, "aws:///"), nil }})
	for name, annotations := range map[string]map[string]string{
		"classic": nil, "network": {annotation.KeyType: "nlb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recordtest.Compare[SharedState, Desired, Observed](t, cloud, recordtest.Options[SharedState]{
				Vocabulary: annotation.Vocabulary("aws"), Own: annotation.Documentation(), Annotations: annotations,
				File: "records-" + name + ".golden", Shared: shared,
				Nodes: []*v1.Node{node("i-1", "10.0.1.11"), node("i-2", "10.0.2.12")},
			})
		})
	}
}
