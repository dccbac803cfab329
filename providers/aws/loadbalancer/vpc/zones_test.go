package vpc

import "testing"

func TestUnservedZones(t *testing.T) {
	zoneOf := map[string]string{"subnet-a": "us-west-2a", "subnet-b": "us-west-2b"}
	for _, tc := range []struct {
		name           string
		nodes, subnets []string
		want           string
	}{
		{"every zone is served", []string{"us-west-2a", "us-west-2b"}, []string{"subnet-a", "subnet-b"}, ""},
		{"no nodes", nil, []string{"subnet-a"}, ""},
		{"some are not", []string{"us-west-2a", "us-west-2b", "us-west-2c"}, []string{"subnet-a"},
			"nodes in us-west-2b, us-west-2c receive no traffic, because the load balancer has no subnet there: list a subnet of each zone in subnets"},
		{"a zone that is not known", []string{""}, []string{"subnet-a"}, ""},
		{"a subnet that is not known", []string{"us-west-2b"}, []string{"subnet-x"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := UnservedZones(tc.nodes, tc.subnets, zoneOf, "subnets"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
