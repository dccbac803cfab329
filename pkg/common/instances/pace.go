package instances

import (
	"context"
	"sync"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// pacer is a token bucket for reads of single joining nodes. A few joins are answered at once;
// nodes that keep joining faster than the bucket fills share lists instead.
type pacer struct {
	mu     sync.Mutex
	tokens float64
	at     time.Time
}

const (
	// freeReads are the single reads that may follow each other at once: a usual step of an
	// autoscaler, as reads that come together are one.
	freeReads = 4
	// listPause is the time between two lists while machines are launched and join all the time,
	// and the time in which the bucket gains one read once they no longer do. A node waits this
	// long at worst, against the minutes that machines take to boot.
	listPause = 5 * time.Second
)

// allow takes a token if there is one. While there is none the bucket does not fill: nodes keep joining,
// and a single read now and then would only come on top of the lists that they share.
func (p *pacer) allow(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() {
		p.tokens = freeReads
	} else {
		p.tokens = min(freeReads, p.tokens+float64(now.Sub(p.at))/float64(listPause))
	}
	p.at = now
	if p.tokens < 1 {
		p.tokens = 0
		return false
	}
	p.tokens--
	return true
}

// awaitList makes the list that the questions asked at these times wait for, once the pause
// since the last one is over. A list that has started since answers them already.
func (i *Instances) awaitList(ctx context.Context, asked []time.Time) (map[time.Time]struct{}, error) {
	latest := asked[0]
	for _, at := range asked {
		if at.After(latest) {
			latest = at
		}
	}
	last := i.known.lastList()
	if last.After(latest) {
		return nil, nil
	}
	if err := clocks.Sleep(ctx, i.options.Clock, last.Add(listPause).Sub(i.options.Clock.Now())); err != nil {
		return nil, err
	}
	return nil, i.readList(ctx)
}
