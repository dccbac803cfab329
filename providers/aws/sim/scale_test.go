package sim

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// manyBalancers returns a cloud with network load balancers, each of which forwards two listeners to all
// machines.
func manyBalancers(tb testing.TB, balancers, machines int) *Cloud {
	tb.Helper()
	c, err := New(Options{})
	if err != nil {
		tb.Fatal(err)
	}
	do := func(form string, args ...any) string {
		w := post(c, "elasticloadbalancing", fmt.Sprintf(form, args...)+"&Version=2015-12-01")
		if w.Code != 200 {
			tb.Fatal(w.Body)
		}
		return w.Body.String()
	}
	arn := func(body, element string) string {
		_, rest, _ := strings.Cut(body, "<"+element+">")
		text, _, _ := strings.Cut(rest, "</")
		return url.QueryEscape(text)
	}
	var targets strings.Builder
	for n := range machines {
		node, err := c.Launch(world.Machine{})
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(&targets, "&Targets.member.%d.Id=%s", n+1, c.Instance(node.Name))
	}
	for n := range balancers {
		lb := arn(do("Action=CreateLoadBalancer&Type=network&Name=lb-%d&Subnets.member.1=%s", n, c.Subnets(false)[0]),
			"LoadBalancerArn")
		for port := 80; port < 82; port++ {
			group := arn(do("Action=CreateTargetGroup&Name=g-%d-%d&Protocol=TCP&Port=30080&VpcId=%s", n, port, c.VPC()),
				"TargetGroupArn")
			do("Action=CreateListener&LoadBalancerArn=%s&Protocol=TCP&Port=%d&DefaultActions.member.1.Type=forward&DefaultActions.member.1.TargetGroupArn=%s", lb, port, group)
			do("Action=RegisterTargets&TargetGroupArn=%s%s", group, targets.String())
		}
	}
	return c
}

func BenchmarkWorldOfTwoHundredBalancers(b *testing.B) {
	c := manyBalancers(b, 200, 1000)
	b.Run("LoadBalancers", func(b *testing.B) {
		for b.Loop() {
			if n := len(c.LoadBalancers()); n != 200 {
				b.Fatal(n)
			}
		}
	})
	b.Run("Objects", func(b *testing.B) {
		for b.Loop() {
			c.Objects()
		}
	})
	b.Run("DescribeTargetGroups", func(b *testing.B) {
		for b.Loop() {
			if w := post(c, "elasticloadbalancing", "Action=DescribeTargetGroups&Version=2015-12-01"); w.Code != 200 {
				b.Fatal(w.Body)
			}
		}
	})
}
