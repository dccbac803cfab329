package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
