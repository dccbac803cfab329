package cloudapi

import (
	"net/http"
	"testing"
)

// named answers with its name, and counts how often its idle connections were closed.
type named struct {
	name   string
	closed int
}

func (n *named) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{Status: n.name}, nil
}

func (n *named) CloseIdleConnections() { n.closed++ }

func TestSwitchable(t *testing.T) {
	t.Parallel()
	s := &Switchable{}
	if s.Known() {
		t.Error("a base is known before there is one")
	}
	first, second := &named{name: "first"}, &named{name: "second"}
	for _, base := range []*named{first, second} {
		s.Set(base)
		resp, err := s.RoundTrip(&http.Request{})
		if err != nil || resp.Status != base.name || !s.Known() {
			t.Errorf("the answer is of %v (%v), want %s", resp, err, base.name)
		}
	}
	if first.closed != 1 || second.closed != 0 {
		t.Errorf("connections closed %d and %d times, want those of the base before, once", first.closed, second.closed)
	}
	s.CloseIdleConnections()
	if second.closed != 1 {
		t.Error("closing idle connections does not reach the base")
	}
}

// Sixteen workers and few hosts need more than the two connections that Go keeps for each.
func TestSwitchableKeepsConnections(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ has, want int }{
		"Go's default":        {0, idlePerHost},
		"the user's own many": {100, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := &http.Transport{MaxIdleConnsPerHost: tc.has}
			(&Switchable{}).Set(base)
			if base.MaxIdleConnsPerHost != tc.want {
				t.Errorf("%d idle connections to a host are kept, want %d", base.MaxIdleConnsPerHost, tc.want)
			}
		})
	}
}
