package merge_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"strings"
	"sync"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/merge"
)

// rules is a document with a value for each Service. version is that of the cloud.
type rules struct {
	version int
	values  map[string]string
}

func (r rules) with(service, value string) rules {
	values := maps.Clone(r.values)
	if values == nil {
		values = map[string]string{}
	}
	values[service] = value
	return rules{version: r.version, values: values}
}

// toy is a cloud with one document, whose writes take 10 seconds.
type toy struct {
	mu            sync.Mutex
	document      rules
	versioned     bool
	reads, writes int
	// before and after hook into writes, with their number from 1; an error of before rejects the write, one of after
	// is that of a lost reply. They may be nil.
	before, after func(write int) error
	// bad values are rejected. If named is set, the error has the names of their Services.
	bad   string
	named bool
	sizes []int
}

func (c *toy) read(context.Context, string) (rules, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	return c.document, nil
}

func (c *toy) write(ctx context.Context, _ string, have, want rules) (rules, error) {
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
		return rules{}, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	c.sizes = append(c.sizes, len(want.values)-len(have.values))
	if c.before != nil {
		if err := c.before(c.writes); err != nil {
			return rules{}, err
		}
	}
	if c.versioned && have.version != c.document.version {
		return rules{}, failure(cloudapi.Conflict, "the document has changed")
	}
	var guilty []string
	for service, value := range want.values {
		if value == c.bad && c.bad != "" {
			guilty = append(guilty, service)
		}
	}
	if len(guilty) > 0 {
		text := "invalid"
		if c.named {
			text = strings.Join(guilty, " ")
		}
		return rules{}, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "write", Err: errors.New(text)}
	}
	c.document = rules{version: c.document.version + 1, values: want.values}
	if c.after != nil {
		if err := c.after(c.writes); err != nil {
			return rules{}, err
		}
	}
	return c.document, nil
}

func failure(class cloudapi.Class, text string) error {
	return &cloudapi.Error{Class: class, Operation: "write", Err: errors.New(text)}
}

// byOther is a change that another client makes.
func (c *toy) byOther(service, value string) {
	c.document = c.document.with(service, value)
	c.document.version++
}

func (c *toy) writers() *merge.Writers[rules] {
	return merge.New(merge.Options[rules]{
		Provider: "toy", Kind: "rules", Read: c.read, Write: c.write, Versioned: c.versioned,
		Equal: func(a, b rules) bool { return maps.Equal(a.values, b.values) },
		Guilty: func(err error, _ []string) []string {
			if c.named {
				return strings.Fields(cloudapi.CauseOf(err).Error())
			}
			return nil
		},
	})
}

func set(service, value string) func(rules) (rules, error) {
	return func(r rules) (rules, error) { return r.with(service, value), nil }
}

func service(n int) string { return fmt.Sprintf("s%03d", n) }

// log2 returns the logarithm, rounded up.
func log2(n int) int { return bits.Len(uint(n - 1)) }
