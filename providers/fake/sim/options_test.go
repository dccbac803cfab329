package sim

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestBadOptionsAreReportedAtOnce(t *testing.T) {
	_, err := New(Options{
		Pools:     []netip.Prefix{netip.MustParsePrefix("198.51.100.7/24")},
		Quotas:    map[string]int{"volumes": 1, quotaRoutes: -1},
		ErrorRate: 1.5, RateLimit: -1, Latency: -time.Second, PageSize: 501, DataPlane: "ebpf",
	})
	if err == nil {
		t.Fatal("the options were accepted")
	}
	for _, want := range []string{
		"write 198.51.100.0/24", `quota "volumes" is unknown: use one of addresses, instances`, "quota routes is -1", "error rate 1.5",
		"rate limit -1", "latency -1s", "page size 501", `data plane "ebpf" is unknown: use "proxy"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestUsableAddresses(t *testing.T) {
	tests := map[string]struct {
		pool, addr string
		want       bool
	}{
		"network":             {"198.51.100.0/24", "198.51.100.0", false},
		"first":               {"198.51.100.0/24", "198.51.100.1", true},
		"last":                {"198.51.100.0/24", "198.51.100.254", true},
		"broadcast":           {"198.51.100.0/24", "198.51.100.255", false},
		"outside":             {"198.51.100.0/24", "198.51.101.1", false},
		"point to point":      {"198.51.100.0/31", "198.51.100.0", true},
		"single":              {"198.51.100.9/32", "198.51.100.9", true},
		"IPv6 router anycast": {"2001:db8::/64", "2001:db8::", false},
		"IPv6 first":          {"2001:db8::/64", "2001:db8::1", true},
		"IPv6 last":           {"2001:db8::/126", "2001:db8::3", true},
		"end of all there is": {"255.255.255.0/24", "255.255.255.255", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ranges(mustPrefixes(test.pool)).contains(netip.MustParseAddr(test.addr)); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
