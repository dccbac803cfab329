package observe

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// Without checksums, a manager that starts would have to read the members of every pool: two hundred requests
// for a hundred Services. The list of pools has the IDs of their members, and the address and port of a
// member never change under its ID. So an annotation of the Service has, for each pool, a checksum of these
// IDs and one of the members when they were last read. Pools with unchanged IDs are not read. An audit
// ignores the checksums and reads all members every half hour.

// checksumLength is the number of digits of a checksum: 40 bits are enough for a handful of pools.
const checksumLength = 10

// Checksums are those of a Service's pools, by the beginning of the pool's ID.
type Checksums map[string]checksum

type checksum struct{ ids, members string }

// ParseChecksums reads the annotation. Items that cannot be parsed are ignored.
func ParseChecksums(text string) Checksums {
	found := Checksums{}
	for item := range strings.SplitSeq(text, ",") {
		parts := strings.Split(item, ":")
		if len(parts) == 3 && len(parts[1]) == checksumLength && len(parts[2]) == checksumLength {
			found[parts[0]] = checksum{ids: parts[1], members: parts[2]}
		}
	}
	return found
}

// Only returns those whose members have one of these checksums.
func (c Checksums) Only(members []string) Checksums {
	maps.DeleteFunc(c, func(_ string, stored checksum) bool { return !slices.Contains(members, stored.members) })
	return c
}

// lookup returns the checksum of a pool's members, or "" if the IDs of its members have changed since it was stored.
func (c Checksums) lookup(p api.Pool) string {
	stored, ok := c[poolKey(p.ID)]
	if !ok {
		return ""
	}
	ids := make([]string, len(p.Members))
	for i, m := range p.Members {
		ids[i] = m.ID
	}
	if sum(ids) != stored.ids {
		return ""
	}
	return stored.members
}

func poolKey(pool string) string { return pool[:min(len(pool), checksumLength)] }

// MemberChecksum returns a checksum of all compared fields of members.
func MemberChecksum(members []api.Member) string {
	items := make([]string, len(members))
	for i, m := range members {
		items[i] = fmt.Sprintf("%s %s %d %d", m.Name, m.Address, m.Port, m.MonitorPort)
	}
	return sum(items)
}

// sum returns a checksum that does not depend on the order of the items. It sorts them.
func sum(items []string) string {
	slices.Sort(items)
	digest := sha256.Sum256([]byte(strings.Join(items, "\n")))
	return hex.EncodeToString(digest[:])[:checksumLength]
}
