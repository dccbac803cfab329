package loadbalancer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// A manager that starts would have to read the members of every pool, which are two hundred requests
// for a hundred Services. The list of pools has the IDs of their members, and what a member is (its
// address and port) never changes under its ID. So the Service remembers, for each pool, a hash of
// the IDs together with one of what the members were when they were last read. Where the IDs are
// still the same, nothing is read; an audit, which trusts nothing, reads all of it every half hour.

// hashLength is how many digits of a hash are kept: 40 bits, for a handful of pools.
const hashLength = 10

// seal is what a Service remembers of one pool.
type seal struct{ ids, members string }

// seals are those of a Service, by the beginning of the pool's ID.
type seals map[string]seal

// parseSeals reads what a Service remembers of its members. Items that cannot be parsed are ignored.
func parseSeals(text string) seals {
	found := seals{}
	for item := range strings.SplitSeq(text, ",") {
		parts := strings.Split(item, ":")
		if len(parts) == 3 && len(parts[1]) == hashLength && len(parts[2]) == hashLength {
			found[parts[0]] = seal{ids: parts[1], members: parts[2]}
		}
	}
	return found
}

// of returns what the members of a pool are known to be by their IDs: a hash, or "".
func (s seals) of(p api.Pool) string {
	one, ok := s[sealKey(p.ID)]
	if !ok {
		return ""
	}
	ids := make([]string, len(p.Members))
	for i, m := range p.Members {
		ids[i] = m.ID
	}
	if hash(ids) != one.ids {
		return ""
	}
	return one.members
}

// sealPools is what a Service is to remember; false if not all of it is known.
func sealPools(pools []Pool) (string, bool) {
	var items []string
	for _, p := range pools {
		if p.sealed != "" {
			return "", false // it remembers already
		}
		ids := make([]string, len(p.Members))
		for i, m := range p.Members {
			if m.ID == "" {
				return "", false
			}
			ids[i] = m.ID
		}
		items = append(items, sealKey(p.ID)+":"+hash(ids)+":"+hashMembers(p.Members))
	}
	slices.Sort(items)
	return strings.Join(items, ","), len(items) > 0
}

func sealKey(pool string) string { return pool[:min(len(pool), hashLength)] }

// hashMembers is a hash of everything that is compared of members.
func hashMembers(members []api.Member) string {
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = fmt.Sprintf("%s %s %d %d", m.Name, m.Address, m.Port, m.MonitorPort)
	}
	return hash(texts)
}

// hash does not depend on the order.
func hash(texts []string) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(texts)), "\n")))
	return hex.EncodeToString(sum[:])[:hashLength]
}
