package instances

import (
	"testing"
	"time"
)

func TestAllowSingleRead(t *testing.T) {
	start := time.Unix(0, 0)
	for name, c := range map[string]struct {
		// every is the time between joins, of which there are so many.
		every time.Duration
		joins int
		// more joins follow this pause without a delay.
		pause time.Duration
		more  int
		// want is how many of all are read singly.
		want int
	}{
		"a step of an autoscaler":         {every: time.Second, joins: burstReads, want: burstReads},
		"a node now and then":             {every: listInterval, joins: 100, want: 100},
		"a thousand within half a minute": {every: 30 * time.Millisecond, joins: 1000, want: burstReads},
		"joins that go on and on":         {every: listInterval / 2, joins: 1000, want: 2*burstReads - 1},
		"joins that go on, then a pause":  {every: time.Second, joins: 60, pause: listInterval, more: 5, want: burstReads + 1},
		"continuous joins, then a pause":  {every: time.Second, joins: 60, pause: time.Minute, more: 60, want: 2 * burstReads},
	} {
		t.Run(name, func(t *testing.T) {
			var p listPolicy
			now, singly := start, 0
			ask := func(n int, every time.Duration) {
				for range n {
					if p.allowSingleRead(now) {
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
