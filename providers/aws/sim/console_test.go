package sim

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

func TestAdditionalInterfaces(t *testing.T) {
	c := newCloud(t, Options{})
	if _, err := c.Launch(world.Machine{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	id, err := c.AttachInterface("a", Interface{Device: 1, Addresses: 3, IPv6: true,
		Prefix: netip.MustParsePrefix("2001:db8:1234:1a00:1::/80")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AttachInterface("a", Interface{Device: 1}); err == nil {
		t.Error("two interfaces are at one index")
	}
	body := post(c, "ec2", "Action=DescribeInstances&Version=2016-11-15").Body.String()
	for _, want := range []string{id, "<ipv6Prefix>2001:db8:1234:1a00:1::/80</ipv6Prefix>",
		"<deviceIndex>1</deviceIndex>"} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing in %s", want, body)
		}
	}
	// The first interface has one address, the second three.
	if n := strings.Count(body, "<primary>"); n != 4 {
		t.Errorf("%d addresses", n)
	}
	modify := post(c, "ec2",
		"Action=ModifyInstanceAttribute&Version=2016-11-15&SourceDestCheck.Value=false&InstanceId="+c.Instance("a"))
	if modify.Code != http.StatusBadRequest || !strings.Contains(modify.Body.String(), "multiple interfaces") {
		t.Errorf("status %d: %s", modify.Code, modify.Body)
	}
}

func TestFargateNodeHasNoInstance(t *testing.T) {
	c := newCloud(t, Options{})
	ip, err := c.LaunchFargate("us-west-2a")
	if err != nil {
		t.Fatal(err)
	}
	body := post(c, "ec2",
		"Action=DescribeNetworkInterfaces&Version=2016-11-15&Filter.1.Name=addresses.private-ip-address&Filter.1.Value.1="+ip.String()).Body.String()
	if !strings.Contains(body, "<status>in-use</status>") || strings.Contains(body, "<instanceId>") {
		t.Errorf("interface %s", body)
	}
}

func TestAddSubnet(t *testing.T) {
	c := newCloud(t, Options{})
	id, err := c.AddSubnet("us-west-2a", netip.MustParsePrefix("10.0.48.0/24"), true, map[string]string{"k": "v"})
	if err != nil {
		t.Fatal(err)
	}
	body := post(c, "ec2",
		"Action=DescribeSubnets&Version=2016-11-15&Filter.1.Name=tag:k&Filter.1.Value.1=v").Body.String()
	if !strings.Contains(body, id) || !strings.Contains(body, "<availableIpAddressCount>251</availableIpAddressCount>") {
		t.Errorf("subnet %s", body)
	}
	for _, bad := range []string{"10.0.48.0/25", "192.168.0.0/24"} {
		if _, err := c.AddSubnet("us-west-2a", netip.MustParsePrefix(bad), false, nil); err == nil {
			t.Errorf("subnet %s was made", bad)
		}
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	c := newCloud(t, Options{AccessKeys: []string{"AKIA"}, Allow: func(string) bool { return true }})
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			name := fmt.Sprintf("node-%d", n)
			if _, err := c.Launch(world.Machine{Name: name}); err != nil {
				t.Error(err)
			}
			for _, action := range []string{"DescribeInstances", "DescribeSecurityGroups", "AllocateAddress",
				"DescribeRouteTables"} {
				if w := post(c, "ec2", "Action="+action+"&Version=2016-11-15"); w.Code != http.StatusOK {
					t.Errorf("%s: status %d", action, w.Code)
				}
			}
			if err := c.Terminate(name); err != nil {
				t.Error(err)
			}
			c.Objects()
		})
	}
	group.Wait()
	if o := c.Objects(); o["instances"] != 0 || o["addresses"] != 8 {
		t.Errorf("objects %v", o)
	}
}
