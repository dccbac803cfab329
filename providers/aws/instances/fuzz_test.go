package instances

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// FuzzNodeNames: whatever a node is called, what is read out of its name, or out of a Fargate node's ID,
// is an ID or an address, or nothing.
func FuzzNodeNames(f *testing.F) {
	for _, seed := range []string{
		"", "i-0123456789abcdef0", "i-01234567.us-west-2.compute.internal", "i-kwok", "i-", "ip-10-0-1-2.ec2.internal",
		"ip-10-0-1", "ip--", "fargate-", "fargate-ip-10-0-1-2", "fargate-10.0.1.2", "fargate-::1", "fargate-ip-::1", "*", "\x00", "ip-10-0-1-2\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if id, ok := IDOfNodeName(name); ok {
			if !strings.HasPrefix(name, id) {
				t.Errorf("%q: ID %q does not begin the name", name, id)
			}
			if !names.IsFargate(id) && !names.IsInstanceID(id) {
				t.Errorf("%q: ID %q is none", name, id)
			}
		}
		if ip, ok := addressInName(name); ok && !ip.Is4() {
			t.Errorf("%q: address %s", name, ip)
		}
		key := fargateKeyOf(names.FargatePrefix + name)
		if _, err := netip.ParseAddr(key.value); (err == nil) != (key.filter != filterPrivateName) {
			t.Errorf("%q: key %v", name, key)
		}
		if got := plain(escapeWildcards.Replace(name)); got != name {
			t.Errorf("%q: as a filter it matches %q", name, got)
		}
	})
}

// plain is what a filter's value without wildcards matches; a wildcard stays as <any>.
func plain(value string) string {
	var out strings.Builder
	for at := 0; at < len(value); at++ {
		switch c := value[at]; {
		case c == '\\' && at+1 < len(value):
			at++
			out.WriteByte(value[at])
		case c == '*' || c == '?':
			out.WriteString("<any>")
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
