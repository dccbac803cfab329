package instances

import (
	"testing"
	"time"
)

func TestPacer(t *testing.T) {
	start := time.Unix(0, 0)
	for name, c := range map[string]struct {
		// every is the time between joins, of which there are so many.
		every time.Duration
		joins int
		// more joins come after this pause, one right after the other.
		pause time.Duration
		more  int
		// want is how many of all are read singly.
		want int
	}{
		"a step of an autoscaler":              {every: time.Second, joins: freeReads, want: freeReads},
		"a node now and then":                  {every: listPause, joins: 100, want: 100},
		"a thousand within half a minute":      {every: 30 * time.Millisecond, joins: 1000, want: freeReads},
		"joins that go on and on":              {every: listPause / 2, joins: 1000, want: 2*freeReads - 1},
		"joins that go on, then a pause":       {every: time.Second, joins: 60, pause: listPause, more: 5, want: freeReads + 1},
		"joins that go on, then a quiet while": {every: time.Second, joins: 60, pause: time.Minute, more: 60, want: 2 * freeReads},
	} {
		t.Run(name, func(t *testing.T) {
			var p pacer
			now, singly := start, 0
			ask := func(n int, every time.Duration) {
				for range n {
					if p.allow(now) {
						singly++
					}
					now = now.Add(every)
				}
			}
			ask(c.joins, c.every)
			now = now.Add(c.pause)
			ask(c.more, 0)
			if singly != c.want {
				t.Errorf("%d reads, want %d", singly, c.want)
			}
		})
	}
}
