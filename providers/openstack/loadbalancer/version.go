package loadbalancer

import (
	"fmt"
	"strconv"
	"strings"
)

// version of Octavia's API. What a version lacks is left out of requests, or is a problem of the Service.
type version struct{ major, minor int }

// Versions in which Octavia's API learnt something.
var (
	versionTimeouts       = version{2, 1}
	versionTags           = version{2, 5}
	versionFlavors        = version{2, 6}
	versionAllowedCIDRs   = version{2, 12}
	versionZones          = version{2, 14}
	versionUDPMonitors    = version{2, 16}
	versionSCTP           = version{2, 23}
	versionAdditionalVIPs = version{2, 26}
)

// newest returns the newest of versions such as v2.26. An answer without any is an error: reading it
// as an old version would switch off what load balancers have.
func newest(versions []string) (version, error) {
	var best version
	for _, text := range versions {
		major, minor, _ := strings.Cut(strings.TrimPrefix(text, "v"), ".")
		x, errX := strconv.Atoi(major)
		y, errY := strconv.Atoi(minor)
		if errX != nil || minor != "" && errY != nil {
			continue
		}
		if v := (version{x, y}); best.before(v) {
			best = v
		}
	}
	if best.major == 0 {
		return best, fmt.Errorf("octavia names no version of its API that can be read: %q", versions)
	}
	return best, nil
}

func (v version) before(other version) bool {
	return v.major < other.major || v.major == other.major && v.minor < other.minor
}

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// features are what a version and a provider of Octavia can do together.
type features struct {
	version version
	ovn     bool
}

func (f features) since(v version) bool { return !f.version.before(v) }

func (f features) tags() bool           { return f.since(versionTags) }
func (f features) timeouts() bool       { return f.since(versionTimeouts) && !f.ovn }
func (f features) flavors() bool        { return f.since(versionFlavors) && !f.ovn }
func (f features) allowedCIDRs() bool   { return f.since(versionAllowedCIDRs) && !f.ovn }
func (f features) zones() bool          { return f.since(versionZones) && !f.ovn }
func (f features) udpMonitors() bool    { return f.since(versionUDPMonitors) && !f.ovn }
func (f features) sctp() bool           { return f.since(versionSCTP) }
func (f features) additionalVIPs() bool { return f.since(versionAdditionalVIPs) }
