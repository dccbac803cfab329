package intent

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	v1 "k8s.io/api/core/v1"
	netutils "k8s.io/utils/net"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// Bounds of values. They cover the ranges of all known clouds; a provider refuses what its own cloud does not
// allow.
const (
	maxProbe               = time.Hour
	maxIdle                = 24 * time.Hour
	maxDraining            = time.Hour // the most that classic and network load balancers of AWS accept
	maxThreshold           = 10        // ELB and Octavia both end at 10
	maxPort                = 65535
	defaultAffinityTimeout = 10800 // the API server's default of sessionAffinityConfig.clientIP.timeoutSeconds
	localProbePath         = "/healthz"
)

// splitList splits a comma list and trims spaces. An empty entry is an error, because it usually results from
// a value that was not filled in.
func splitList(value string) ([]string, error) {
	if err := checkEntries(value); err != nil {
		return nil, err
	}
	items := strings.Split(value, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
		if items[i] == "" {
			return nil, fmt.Errorf("entry %d of the list is empty: remove the comma or fill it in", i+1)
		}
	}
	return items, nil
}

// parseNames parses a comma list of IDs, names or addresses: no duplicates, no spaces inside.
func parseNames(value string) ([]string, error) {
	items, err := splitList(value)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		if strings.ContainsFunc(item, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
			return nil, fmt.Errorf("%s contains a space: separate entries by commas", Quote(item))
		}
		if seen[item] {
			return nil, fmt.Errorf("%s is listed twice: list it once", Quote(item))
		}
		seen[item] = true
	}
	return items, nil
}

// parseReference accepts one reference of a cloud; providers check its form.
func parseReference(value string) (string, error) {
	if strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == ',' }) {
		return "", fmt.Errorf("write one reference, without spaces and commas")
	}
	return value, nil
}

// parseRange parses one source range. Like the API server it accepts host bits and leading zeros,
// since Services with such values exist; changed reports whether the canonical form differs.
func parseRange(text string) (prefix netip.Prefix, changed bool, err error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return netip.Prefix{}, false, fmt.Errorf("%s lacks its prefix length: write %s/%d", Quote(text), addr, addr.BitLen())
	}
	_, network, err := netutils.ParseCIDRSloppy(text)
	if err != nil {
		return netip.Prefix{}, false, fmt.Errorf("%s is not a CIDR: write for example 10.0.0.0/8 or "+
			"2001:db8::/32", Quote(text))
	}
	addr, _ := netip.AddrFromSlice(network.IP)
	ones, bits := network.Mask.Size()
	if bits != addr.BitLen() || addr.Is4In6() {
		return netip.Prefix{}, false, fmt.Errorf("%s maps IPv4 into IPv6: write it as a plain IPv4 CIDR", Quote(text))
	}
	prefix = netip.PrefixFrom(addr, ones)
	return prefix, prefix.String() != strings.ToLower(text), nil
}

// canonicalRanges sorts source ranges and removes duplicates.
func canonicalRanges(ranges []netip.Prefix) []netip.Prefix {
	sorting.Func(ranges, netip.Prefix.Compare)
	return slices.Compact(ranges)
}

// familyOf returns the IP family of an address.
func familyOf(addr netip.Addr) v1.IPFamily {
	if addr.Is4() || addr.Is4In6() {
		return v1.IPv4Protocol
	}
	return v1.IPv6Protocol
}

// durationBetween parses durations that clouds count in whole seconds.
func durationBetween(shortest, longest time.Duration) func(string) (time.Duration, error) {
	return func(value string) (time.Duration, error) {
		d, err := time.ParseDuration(value)
		if err != nil {
			if seconds, numErr := strconv.ParseUint(value, 10, 32); numErr == nil {
				return 0, fmt.Errorf("a unit is missing: write %ds for seconds", seconds)
			}
			return 0, fmt.Errorf("write a duration such as 30s or 5m")
		}
		if d < shortest || d > longest || d%time.Second != 0 {
			return 0, fmt.Errorf("write whole seconds from %s to %s", formatDuration(shortest), formatDuration(longest))
		}
		return d, nil
	}
}

// formatDuration formats a duration without zero units: 5m instead of 5m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// parseInt parses a decimal number within bounds.
func parseInt(value string, minimum, maximum int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < minimum || n > maximum {
		return 0, fmt.Errorf("write a whole number from %d to %d", minimum, maximum)
	}
	return n, nil
}

func parsePort(value string) (int32, error) {
	port, err := parseInt(value, 1, maxPort)
	return int32(port), err //nolint:gosec // at most 65535
}

func parseProxyProtocol(value string) (int, error) {
	version, ok := map[string]int{"off": 0, "v1": 1, "v2": 2}[value]
	if !ok {
		return 0, fmt.Errorf("write off, v1 or v2")
	}
	return version, nil
}

// parseHealthCheckProtocol accepts either case.
func parseHealthCheckProtocol(value string) (HealthCheckProtocol, error) {
	return OneOf(HealthCheckTCP, HealthCheckHTTP)(strings.ToUpper(value))
}

// parseTags parses k=v,k2=v2. A value may be empty and may contain further equal signs.
func parseTags(value string) (map[string]string, error) {
	items, err := splitList(value)
	if err != nil {
		return nil, err
	}
	tags := make(map[string]string, len(items))
	for _, item := range items {
		key, val, found := strings.Cut(item, "=")
		key, val = strings.TrimSpace(key), strings.TrimSpace(val)
		switch _, duplicate := tags[key]; {
		case !found || key == "":
			return nil, fmt.Errorf("%s is not key=value: write for example team=web,stage=prod", Quote(item))
		case duplicate:
			return nil, fmt.Errorf("the key %s is given twice: give it once", Quote(key))
		case strings.ContainsFunc(item, unicode.IsControl):
			return nil, fmt.Errorf("%s contains a control character: remove it", Quote(item))
		}
		tags[key] = val
	}
	return tags, nil
}

// parsePath parses the path of an HTTP probe.
func parsePath(value string) (string, error) {
	isInvalid := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == '#' }
	if !strings.HasPrefix(value, "/") || strings.ContainsFunc(value, isInvalid) {
		return "", fmt.Errorf("write a path that begins with a slash and has no spaces, such as /healthz")
	}
	return value, nil
}

// Int accepts whole numbers within bounds.
func Int(minimum, maximum int) func(string) (int, error) {
	return func(value string) (int, error) { return parseInt(value, minimum, maximum) }
}
