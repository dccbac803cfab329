package instances

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestAddressList(t *testing.T) {
	t.Parallel()
	internal := func(address string) v1.NodeAddress {
		return v1.NodeAddress{Type: v1.NodeInternalIP, Address: address}
	}
	external := func(address string) v1.NodeAddress {
		return v1.NodeAddress{Type: v1.NodeExternalIP, Address: address}
	}
	host := func(address string) v1.NodeAddress {
		return v1.NodeAddress{Type: v1.NodeHostName, Address: address}
	}
	for _, tc := range []struct {
		name    string
		without bool
		add     []v1.NodeAddress
		remove  string
		want    []v1.NodeAddress
		err     string
	}{
		{name: "empty"},
		{name: "in their order, without empty ones", add: []v1.NodeAddress{external("192.0.2.1"), internal(""), internal("10.0.0.1")},
			want: []v1.NodeAddress{external("192.0.2.1"), internal("10.0.0.1")}},
		{name: "each of a type once", add: []v1.NodeAddress{internal("10.0.0.1"), external("10.0.0.1"), internal("10.0.0.1")},
			want: []v1.NodeAddress{internal("10.0.0.1"), external("10.0.0.1")}},
		{name: "without IPv6", without: true, add: []v1.NodeAddress{internal("2001:db8::1"), internal("10.0.0.1"), host("2001:db8::1")},
			want: []v1.NodeAddress{internal("10.0.0.1"), host("2001:db8::1")}},
		{name: "with IPv6", add: []v1.NodeAddress{internal("2001:db8::1")}, want: []v1.NodeAddress{internal("2001:db8::1")}},
		{name: "removed, whatever the type", add: []v1.NodeAddress{internal("10.0.0.1"), internal("10.0.0.2"), external("10.0.0.1")}, remove: "10.0.0.1",
			want: []v1.NodeAddress{internal("10.0.0.2")}},
		{name: "a name need not be an IP address", add: []v1.NodeAddress{host("web")}, want: []v1.NodeAddress{host("web")}},
		{name: "the first invalid address", add: []v1.NodeAddress{internal("ten"), external("eleven")},
			want: []v1.NodeAddress{internal("ten"), external("eleven")}, err: `InternalIP "ten" is not an IP address`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := &AddressList{WithoutIPv6: tc.without}
			for _, a := range tc.add {
				l.Add(a.Type, a.Address)
			}
			l.Remove(tc.remove)
			got, err := l.Addresses()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			if text := errorText(err); text != tc.err {
				t.Errorf("error %q, want %q", text, tc.err)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
