package puretest

import (
	"net/netip"
	"sync"
	"testing"
	"time"
)

type cache struct {
	byName  map[string]*entry
	list    []entry
	any     any
	other   *cache
	visited sync.Map
	read    time.Time
}

type entry struct {
	prefix netip.Prefix
	n      int
}

// TestDumpShowsEveryChange verifies that no part of a cloud's state is left out.
func TestDumpShowsEveryChange(t *testing.T) {
	for name, change := range map[string]func(*cache){
		"an entry behind a pointer": func(c *cache) { c.byName["a"].n++ },
		"another key":               func(c *cache) { c.byName["b"] = &entry{} },
		"a removed key":             func(c *cache) { delete(c.byName, "a") },
		"an item of a list":         func(c *cache) { c.list[0].prefix = netip.MustParsePrefix("10.0.0.0/8") },
		"a longer list":             func(c *cache) { c.list = append(c.list, entry{}) },
		"a value of any type":       func(c *cache) { c.any.(*entry).n++ },
		"another type":              func(c *cache) { c.any = 1 },
		"another object":            func(c *cache) { c.other.list = nil },
		"a concurrent map":          func(c *cache) { c.visited.Store("a", 2) },
		"a time":                    func(c *cache) { c.read = c.read.Add(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			c := &cache{byName: map[string]*entry{"a": {n: 1}}, list: []entry{{n: 1}}, any: &entry{n: 1}}
			c.other = &cache{other: c, list: []entry{{}}}
			c.visited.Store("a", 1)
			before := dump([]any{c})
			if changed := difference(before, dump([]any{c})); len(changed) > 0 {
				t.Fatalf("two dumps of one state differ: %v", changed)
			}
			change(c)
			if len(difference(before, dump([]any{c}))) == 0 {
				t.Error("the dump is the same after the change")
			}
		})
	}
}
