package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// PortRanges merges ports that follow each other: 80, 8080-8081.
func PortRanges(ports []string) []string {
	var out []string
	first, last := -1, -1
	flush := func() {
		switch {
		case first < 0:
		case first == last:
			out = append(out, strconv.Itoa(first))
		default:
			out = append(out, fmt.Sprintf("%d-%d", first, last))
		}
	}
	for _, p := range ports {
		n, err := strconv.Atoi(p)
		switch {
		case err != nil:
			continue
		case n == last+1:
			last = n
			continue
		}
		flush()
		first, last = n, n
	}
	flush()
	return out
}

// Expand returns the single ports of ports and ranges. What is neither stays.
func Expand(ports []string) []string {
	var out []string
	for _, p := range ports {
		from, to, isRange := strings.Cut(p, "-")
		first, err := strconv.Atoi(from)
		last, lastErr := strconv.Atoi(to)
		if !isRange || err != nil || lastErr != nil || last < first {
			out = append(out, p)
			continue
		}
		for n := first; n <= last; n++ {
			out = append(out, strconv.Itoa(n))
		}
	}
	return out
}

// SortPorts sorts ports by their numbers, without duplicates.
func SortPorts(ports []string) []string {
	ports = slices.Clone(ports)
	slices.SortFunc(ports, func(a, b string) int {
		x, _ := strconv.Atoi(a) // texts that are no numbers come first
		y, _ := strconv.Atoi(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	})
	return slices.Compact(ports)
}

// Overlap reports whether two forwarding rules of one address have a port in common.
func Overlap(a, b api.ForwardingRule) bool {
	if a.IPProtocol != b.IPProtocol {
		return false
	}
	for _, p := range portRanges(a) {
		for _, q := range portRanges(b) {
			if p[0] <= q[1] && q[0] <= p[1] {
				return true
			}
		}
	}
	return false
}

// portRanges returns the first and the last port of each range of a forwarding rule.
func portRanges(r api.ForwardingRule) (out [][2]int) {
	texts := r.Ports
	if r.PortRange != "" {
		texts = []string{r.PortRange}
	}
	for _, text := range texts {
		first, last, found := strings.Cut(text, "-")
		if !found {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, lastErr := strconv.Atoi(last)
		if err == nil && lastErr == nil {
			out = append(out, [2]int{from, to})
		}
	}
	if len(texts) == 0 {
		out = append(out, [2]int{0, math.MaxUint16})
	}
	return out
}
