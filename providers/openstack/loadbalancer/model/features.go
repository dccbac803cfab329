package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a version of Octavia's API. Features that a version lacks are omitted from requests, or are a
// problem of the Service.
type Version struct{ major, minor int }

// Versions of Octavia's API that added a feature.
var (
	versionTimeouts       = Version{2, 1}
	VersionTags           = Version{2, 5}
	versionFlavors        = Version{2, 6}
	versionAllowedCIDRs   = Version{2, 12}
	versionSourceIPPort   = Version{2, 13}
	versionZones          = Version{2, 14}
	versionUDPMonitors    = Version{2, 16}
	versionPROXYv2        = Version{2, 22}
	versionSCTP           = Version{2, 23}
	versionAdditionalVIPs = Version{2, 26}
	// Before, the driver of the provider ovn ignores additional VIPs.
	versionOVNAdditionalVIPs = Version{2, 27}
	// VersionNewest is the newest that adds a feature.
	VersionNewest = versionOVNAdditionalVIPs
)

// NewestVersion returns the newest of versions such as v2.26. A response without any is an error: treating it
// as an old version would disable features that load balancers use.
func NewestVersion(versions []string) (Version, error) {
	var newest Version
	for _, text := range versions {
		major, minor, _ := strings.Cut(strings.TrimPrefix(text, "v"), ".")
		x, errX := strconv.Atoi(major)
		y, errY := strconv.Atoi(minor)
		if errX != nil || minor != "" && errY != nil {
			continue
		}
		if v := (Version{x, y}); newest.before(v) {
			newest = v
		}
	}
	if newest.major == 0 {
		return newest, fmt.Errorf("octavia returned no known version of its API: %q", versions)
	}
	return newest, nil
}

func (v Version) before(other Version) bool {
	return v.major < other.major || v.major == other.major && v.minor < other.minor
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// Features are the features that a version and a provider of Octavia support together.
type Features struct {
	Version Version
	// Assumed is set if the version could not be read.
	Assumed bool
	// OVN is set for the provider ovn.
	OVN bool
}

func (f Features) since(v Version) bool { return !f.Version.before(v) }

// Tags reports whether objects have tags.
func (f Features) Tags() bool { return f.since(VersionTags) }

// Timeouts reports whether listeners have timeouts.
func (f Features) Timeouts() bool { return f.since(versionTimeouts) && !f.OVN }

// Flavors reports whether load balancers have flavors.
func (f Features) Flavors() bool { return f.since(versionFlavors) && !f.OVN }

// AllowedCIDRs reports whether listeners have allowed CIDRs.
func (f Features) AllowedCIDRs() bool { return f.since(versionAllowedCIDRs) && !f.OVN }

// Zones reports whether load balancers have availability zones.
func (f Features) Zones() bool { return f.since(versionZones) && !f.OVN }

// UDPMonitors reports whether pools have health monitors of type UDP-CONNECT.
func (f Features) UDPMonitors() bool { return f.since(versionUDPMonitors) && !f.OVN }

// SCTP reports whether listeners support SCTP.
func (f Features) SCTP() bool { return f.since(versionSCTP) }

// SourceIPPort reports whether pools have the algorithm SOURCE_IP_PORT, the only one of the provider ovn.
func (f Features) SourceIPPort() bool { return f.since(versionSourceIPPort) }

// PROXYv2 reports whether pools have version 2 of the PROXY protocol.
func (f Features) PROXYv2() bool { return f.since(versionPROXYv2) }

// SCTPMonitors reports whether pools have health monitors of type SCTP.
func (f Features) SCTPMonitors() bool { return f.SCTP() && !f.OVN }

// AdditionalVIPs reports whether load balancers have additional VIPs.
func (f Features) AdditionalVIPs() bool {
	return f.since(versionAdditionalVIPs) && (!f.OVN || f.since(versionOVNAdditionalVIPs))
}
