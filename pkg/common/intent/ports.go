package intent

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/internal/spell"
)

// allPorts selects every TCP port.
const allPorts = "*"

// PortReferences finds the ports of a Service that references name: by name, by number, or by NUMBER/PROTOCOL.
type PortReferences struct {
	ports   []Port
	indexes map[string][]int
	advised int
}

// PortReferences returns the index of the ports. One index serves all references of a Service.
func (s Service) PortReferences() *PortReferences {
	r := &PortReferences{ports: s.Ports, indexes: make(map[string][]int, 3*len(s.Ports))}
	for i, p := range s.Ports {
		for _, reference := range p.references() {
			if at := r.indexes[reference]; len(at) == 0 || at[len(at)-1] != i {
				r.indexes[reference] = append(at, i)
			}
		}
	}
	return r
}

// Unknown returns an error that names the nearest port if a reference names none of the Service.
func (r *PortReferences) Unknown(reference string) error {
	if len(r.indexes[reference]) > 0 {
		return nil
	}
	err := fmt.Errorf("the Service has no port %s", Quote(reference))
	if r.advised++; r.advised > maxAdvice {
		return err
	}
	base, _, _ := strings.Cut(reference, "/")
	var known, shown []string
	for _, p := range r.ports {
		number := strconv.Itoa(int(p.Port))
		if number == base {
			return fmt.Errorf("%w: did you mean %s/%s?", err, number, p.Protocol)
		}
		known = append(known, number)
		if p.Name == "" {
			shown = append(shown, number)
			continue
		}
		known, shown = append(known, p.Name), append(shown, p.Name+" ("+number+")")
	}
	if nearest := spell.Nearest(reference, known); nearest != "" {
		return fmt.Errorf("%w: did you mean %s?", err, nearest)
	}
	return fmt.Errorf("%w: write one of %s", err, list(shown))
}

// isTCP reports whether a reference names a TCP port.
func (r *PortReferences) isTCP(reference string) bool {
	return slices.ContainsFunc(r.indexes[reference], func(i int) bool { return r.ports[i].Protocol == v1.ProtocolTCP })
}

// parseTCPPorts parses a list of TCP ports; nil stands for all of them. A protocol after a number is dropped.
func (s *Service) parseTCPPorts(value string) ([]string, error) {
	references, err := parseNames(value)
	if err != nil {
		return nil, err
	}
	var problems []error
	index := s.PortReferences()
	for i, reference := range references {
		if err := s.checkTCP(index, reference); err != nil {
			problems = append(problems, err)
		}
		references[i] = strings.TrimSuffix(reference, "/"+string(v1.ProtocolTCP))
	}
	switch {
	case len(problems) > 0:
		return nil, joinMessages(problems)
	case slices.Contains(references, allPorts):
		return nil, nil
	}
	return references, nil
}

// parseForwardedHeaders marks the ports with X-Forwarded headers.
func (s *Service) parseForwardedHeaders(value string) error {
	references, err := s.parseTCPPorts(value)
	if err != nil {
		return err
	}
	selects := TLS{Ports: references}.Selector()
	for i := range s.Ports {
		s.Ports[i].ForwardedHeaders = selects(s.Ports[i])
	}
	return nil
}

// AddsForwardedHeaders reports whether a port has X-Forwarded headers.
func (s Service) AddsForwardedHeaders() bool {
	return slices.ContainsFunc(s.Ports, func(p Port) bool { return p.ForwardedHeaders })
}

// checkTCP returns why a reference selects no TCP port.
func (s *Service) checkTCP(index *PortReferences, reference string) error {
	if reference == allPorts {
		if !slices.ContainsFunc(s.Ports, func(p Port) bool { return p.Protocol == v1.ProtocolTCP }) {
			return errors.New("the Service has no TCP port: remove the annotation")
		}
		return nil
	}
	if err := index.Unknown(reference); err != nil {
		return err
	}
	if !index.isTCP(reference) {
		return fmt.Errorf("the port %s is not TCP: name TCP ports only", Quote(reference))
	}
	return nil
}

// parsePortRanges parses PORT=CIDR,CIDR; PORT=CIDR and stores the source ranges of each port.
func (s *Service) parsePortRanges(value string) error {
	ranges := make([][]netip.Prefix, len(s.Ports))
	var problems []error
	index := s.PortReferences()
	for entry := range strings.SplitSeq(value, ";") {
		if err := index.parseRanges(strings.TrimSpace(entry), ranges); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return joinMessages(problems)
	}
	for i := range s.Ports {
		s.Ports[i].SourceRanges = ranges[i]
	}
	return nil
}

// parseRanges parses the source ranges of one port. Host bits are refused: there are no older values to accept.
func (r *PortReferences) parseRanges(entry string, byPort [][]netip.Prefix) error {
	reference, list, found := strings.Cut(entry, "=")
	reference = strings.TrimSpace(reference)
	if !found || reference == "" {
		return fmt.Errorf("%s is not PORT=CIDR,CIDR: write for example 22=203.0.113.0/24; 443=0.0.0.0/0", Quote(entry))
	}
	if err := r.Unknown(reference); err != nil {
		return err
	}
	items, err := splitList(list)
	if err != nil {
		return fmt.Errorf("port %s: %w", reference, err)
	}
	var ranges []netip.Prefix
	for _, item := range items {
		prefix, changed, err := parseRange(item)
		switch {
		case err != nil:
			return fmt.Errorf("port %s: %w", reference, err)
		case changed:
			return fmt.Errorf("port %s: %s has bits behind its prefix: write %s", reference, Quote(item), prefix)
		}
		ranges = append(ranges, prefix)
	}
	for _, i := range r.indexes[reference] {
		if byPort[i] != nil {
			return fmt.Errorf("the port %s is listed twice: list it once, with all of its ranges", Quote(reference))
		}
		byPort[i] = canonicalRanges(slices.Clone(ranges))
	}
	return nil
}

// joinMessages joins errors on one line.
func joinMessages(problems []error) error {
	texts := make([]string, len(problems))
	for i, err := range problems {
		texts[i] = err.Error()
	}
	return errors.New(strings.Join(Limit(texts), "; "))
}

// RangesAt returns the source ranges that may connect to a port: those that both the Service and the port allow. Nil
// means all clients. Read refuses a Service with a port that no client could connect to.
func (s Service) RangesAt(p Port) []netip.Prefix {
	switch {
	case len(p.SourceRanges) == 0:
		return s.SourceRanges
	case len(s.SourceRanges) == 0:
		return p.SourceRanges
	}
	common := append(within(s.SourceRanges, p.SourceRanges), within(p.SourceRanges, s.SourceRanges)...)
	return canonicalRanges(common)
}

// within returns the ranges that one of the others contains. Both lists are in canonical form.
func within(ranges, others []netip.Prefix) []netip.Prefix {
	// Two ranges are apart, or one contains the other. Without those that another one contains, the others have an order
	// in which only the last one before a range can contain it.
	var widest []netip.Prefix
	for _, r := range others {
		if n := len(widest); n == 0 || !widest[n-1].Overlaps(r) {
			widest = append(widest, r)
		}
	}
	inside := []netip.Prefix{}
	for _, r := range ranges {
		i, found := slices.BinarySearchFunc(widest, r, netip.Prefix.Compare)
		if found || i > 0 && widest[i-1].Overlaps(r) {
			inside = append(inside, r)
		}
	}
	return inside
}

// AllowedAt returns the source ranges of one family that may connect to a port: the whole family if there are no
// ranges, and none if there are ranges of the other family only. Providers filter by family with it, because an
// empty list would mean "no restriction".
func (s Service) AllowedAt(p Port, family v1.IPFamily) []netip.Prefix {
	if len(s.SourceRanges)+len(p.SourceRanges) == 0 {
		return []netip.Prefix{allAddresses(family)}
	}
	var allowed []netip.Prefix
	for _, prefix := range s.RangesAt(p) {
		if familyOf(prefix.Addr()) == family {
			allowed = append(allowed, prefix)
		}
	}
	return allowed
}

// Restricts reports whether some clients may not connect to some port.
func (s Service) Restricts() bool { return len(s.SourceRanges) > 0 || s.RestrictsPorts() }

// RestrictsPorts reports whether a port has source ranges of its own.
func (s Service) RestrictsPorts() bool {
	return slices.ContainsFunc(s.Ports, func(p Port) bool { return len(p.SourceRanges) > 0 })
}

// allAddresses returns the range of all addresses of a family.
func allAddresses(family v1.IPFamily) netip.Prefix {
	if family == v1.IPv6Protocol {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}
