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

// Matches reports whether a reference names the port: its name, its number, or NUMBER/PROTOCOL.
func (p Port) Matches(reference string) bool {
	number := strconv.Itoa(int(p.Port))
	return reference == number || reference == number+"/"+string(p.Protocol) || reference == p.Name && p.Name != ""
}

// UnknownPort returns an error that names the nearest port if a reference names none of the Service.
func (s Service) UnknownPort(reference string) error {
	if slices.ContainsFunc(s.Ports, func(p Port) bool { return p.Matches(reference) }) {
		return nil
	}
	var known, shown []string
	base, _, _ := strings.Cut(reference, "/")
	for _, p := range s.Ports {
		number := strconv.Itoa(int(p.Port))
		if number == base {
			return fmt.Errorf("the Service has no port %s: did you mean %s/%s?", Quote(reference), number, p.Protocol)
		}
		known = append(known, number)
		if p.Name == "" {
			shown = append(shown, number)
			continue
		}
		known, shown = append(known, p.Name), append(shown, p.Name+" ("+number+")")
	}
	if nearest := spell.Nearest(reference, known); nearest != "" {
		return fmt.Errorf("the Service has no port %s: did you mean %s?", Quote(reference), nearest)
	}
	return fmt.Errorf("the Service has no port %s: write one of %s", Quote(reference), strings.Join(shown, ", "))
}

// parseTCPPorts parses a list of TCP ports; nil stands for all of them. A protocol after a number is dropped.
func (s *Service) parseTCPPorts(value string) ([]string, error) {
	references, err := parseNames(value)
	if err != nil {
		return nil, err
	}
	var problems []error
	for i, reference := range references {
		if err := s.checkTCP(reference); err != nil {
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
	for i := range s.Ports {
		s.Ports[i].ForwardedHeaders = TLS{Ports: references}.Selects(s.Ports[i])
	}
	return nil
}

// AddsForwardedHeaders reports whether a port has X-Forwarded headers.
func (s Service) AddsForwardedHeaders() bool {
	return slices.ContainsFunc(s.Ports, func(p Port) bool { return p.ForwardedHeaders })
}

// checkTCP returns why a reference selects no TCP port.
func (s *Service) checkTCP(reference string) error {
	if reference != allPorts {
		if err := s.UnknownPort(reference); err != nil {
			return err
		}
	}
	for _, p := range s.Ports {
		if p.Protocol == v1.ProtocolTCP && (reference == allPorts || p.Matches(reference)) {
			return nil
		}
	}
	if reference == allPorts {
		return errors.New("the Service has no TCP port: remove the annotation")
	}
	return fmt.Errorf("the port %s is not TCP: name TCP ports only", Quote(reference))
}

// parsePortRanges parses PORT=CIDR,CIDR; PORT=CIDR and stores the source ranges of each port.
func (s *Service) parsePortRanges(value string) error {
	ranges := make([][]netip.Prefix, len(s.Ports))
	var problems []error
	for entry := range strings.SplitSeq(value, ";") {
		if err := s.parsePortEntry(strings.TrimSpace(entry), ranges); err != nil {
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

// parsePortEntry parses the source ranges of one port. Host bits are refused: there are no older values to accept.
func (s *Service) parsePortEntry(entry string, byPort [][]netip.Prefix) error {
	reference, list, found := strings.Cut(entry, "=")
	reference = strings.TrimSpace(reference)
	if !found || reference == "" {
		return fmt.Errorf("%s is not PORT=CIDR,CIDR: write for example 22=203.0.113.0/24; 443=0.0.0.0/0", Quote(entry))
	}
	if err := s.UnknownPort(reference); err != nil {
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
	for i, p := range s.Ports {
		if !p.Matches(reference) {
			continue
		}
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
	return errors.New(strings.Join(texts, "; "))
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
	common := []netip.Prefix{}
	for _, a := range s.SourceRanges {
		for _, b := range p.SourceRanges {
			switch {
			case !a.Overlaps(b):
			case a.Bits() > b.Bits(): // one of them contains the other
				common = append(common, a)
			default:
				common = append(common, b)
			}
		}
	}
	return canonicalRanges(common)
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

// checkPortRanges refuses a port that no client could connect to: its ranges and those of the Service exclude each
// other, or are of another family.
func (r *reader) checkPortRanges() {
	for _, p := range r.out.Ports {
		if len(p.SourceRanges) == 0 {
			continue
		}
		if !slices.ContainsFunc(r.out.Families, func(f v1.IPFamily) bool { return len(r.out.AllowedAt(p, f)) > 0 }) {
			r.problems.Addf(KeyPortSourceRanges, r.svc.Annotations[KeyPortSourceRanges], "no client could connect to the port "+
				"%d, because it needs an address in its ranges and in those of the Service (%s), of a family of the Service: add "+
				"one that both contain", p.Port, r.out.Sources.FieldOf(KeySourceRanges))
		}
	}
}
