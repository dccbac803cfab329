package controllers

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

func TestPodCIDRsFromPrefixes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newControllerWorld(t, sim.Options{IPv6: true, Latency: 20 * time.Millisecond})
		for n, name := range []string{"a", "b", "c"} {
			w.register(name)
			prefix := netip.MustParsePrefix("2001:db8:1234:1a00:" + string(rune('1'+n)) + "::/80")
			if err := w.Cloud.Cloud.DelegatePrefix(name, prefix); err != nil {
				t.Fatal(err)
			}
		}
		w.register("has", func(n *v1.Node) { n.Spec.PodCIDR, n.Spec.PodCIDRs = "10.0.0.0/24", []string{"10.0.0.0/24"} })
		w.register("late")
		w.register("of another cloud", func(n *v1.Node) { n.Spec.ProviderID = "kind://x/y" })
		w.ResetCalls()
		stop := w.run(nodeipam.Name)
		for n, name := range []string{"a", "b", "c"} {
			want := []string{"2001:db8:1234:1a00:" + string(rune('1'+n)) + "::/80"}
			if node := w.node(name); node.Spec.PodCIDR != want[0] || !slices.Equal(node.Spec.PodCIDRs, want) {
				t.Errorf("%s: %s, %v, want %v", name, node.Spec.PodCIDR, node.Spec.PodCIDRs, want)
			}
		}
		if got := w.node("has").Spec.PodCIDRs; !slices.Equal(got, []string{"10.0.0.0/24"}) {
			t.Errorf("what a node had became %v", got)
		}
		select {
		case event := <-w.events.Events:
			if !strings.Contains(event, events.CIDRNotAvailable.String()) || !strings.Contains(event, w.Cloud.Cloud.Instance("late")) {
				t.Errorf("event %q", event)
			}
		default:
			t.Error("no event about the node that gets no range")
		}
		if err := w.Cloud.Cloud.DelegatePrefix("late", netip.MustParsePrefix("2001:db8:1234:1a00:9::/80")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := w.node("late").Spec.PodCIDRs; !slices.Equal(got, []string{"2001:db8:1234:1a00:9::/80"}) {
			t.Errorf("node with a late prefix has %v", got)
		}
		stop()
	})
}

func TestPrefixesOfInstance(t *testing.T) {
	primary := func(v4, v6 []string) *ec2types.Instance {
		n := simtest.NetworkInterface(0)
		for _, p := range v4 {
			n.Ipv4Prefixes = append(n.Ipv4Prefixes, ec2types.InstanceIpv4Prefix{Ipv4Prefix: aws.String(p)})
		}
		for _, p := range v6 {
			n.Ipv6Prefixes = append(n.Ipv6Prefixes, ec2types.InstanceIpv6Prefix{Ipv6Prefix: aws.String(p)})
		}
		return &ec2types.Instance{NetworkInterfaces: []ec2types.InstanceNetworkInterface{n}}
	}
	second := primary(nil, []string{"2001:db8::/80"})
	second.NetworkInterfaces[0].Attachment.DeviceIndex = aws.Int32(1)
	for name, tc := range map[string]struct {
		instance *ec2types.Instance
		order    []string
		want     []string
		text     string
	}{
		"the lowest":           {primary([]string{"10.1.0.32/28", "10.1.0.16/28"}, nil), []string{"ipv4"}, []string{"10.1.0.16/28"}, ""},
		"both":                 {primary([]string{"10.1.0.16/28"}, []string{"2001:db8::/80"}), nil, []string{"10.1.0.16/28", "2001:db8::/80"}, ""},
		"both, IPv6 first":     {primary([]string{"10.1.0.16/28"}, []string{"2001:db8::/80"}), []string{"ipv6", "ipv4"}, []string{"2001:db8::/80", "10.1.0.16/28"}, ""},
		"none":                 {primary(nil, nil), nil, nil, ""},
		"of another interface": {second, nil, nil, ""},
		"no network":           {primary([]string{"x"}, nil), nil, nil, `"x" is not a CIDR`},
		"no instance":          {nil, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := (&prefixes{nodeController{Starter: &Starter{Families: tc.order}}}).of(tc.instance)
			if (err != nil) != (tc.text != "") || err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %v, want %q", err, tc.text)
			}
			var texts []string
			for _, r := range got {
				texts = append(texts, r.String())
			}
			if diff := cmp.Diff(tc.want, texts); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
		})
	}
}
