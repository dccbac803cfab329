package core

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MaxPort is the last port.
const MaxPort = 65535

var validPorts = regexp.MustCompile(`^\d+(-\d+)?$`)

// Ports is a range of ports.
type Ports struct{ First, Last int }

// ParsePorts parses a port, or a range such as 80-90.
func ParsePorts(text string) (Ports, bool) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	a, _ := strconv.Atoi(first)
	b, _ := strconv.Atoi(last)
	return Ports{a, b}, validPorts.MatchString(text) && a >= 1 && b <= MaxPort && a <= b
}

// ParseAllPorts parses ports and ranges, and leaves out what is neither.
func ParseAllPorts(texts []string) []Ports {
	var out []Ports
	for _, text := range texts {
		if ports, ok := ParsePorts(text); ok {
			out = append(out, ports)
		}
	}
	return out
}

// String returns the range as the API shows it.
func (p Ports) String() string { return strconv.Itoa(p.First) + "-" + strconv.Itoa(p.Last) }

// Overlaps reports whether ranges have a port in common.
func (p Ports) Overlaps(other Ports) bool { return p.First <= other.Last && other.First <= p.Last }

// namedProtocols are the protocols that firewall rules can have beside numbers.
var namedProtocols = []string{"all", "tcp", "udp", "icmp", "esp", "ah", "ipip", "sctp"}

func isProtocol(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0 && n <= 255 || slices.Contains(namedProtocols, strings.ToLower(text))
}
