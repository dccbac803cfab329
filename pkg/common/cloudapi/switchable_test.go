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

func TestSwitchableTransport(t *testing.T) {
	t.Parallel()
	s := &SwitchableTransport{}
	if s.HasBase() {
		t.Error("a base is known before there is one")
	}
	first, second := &named{name: "first"}, &named{name: "second"}
	for _, base := range []*named{first, second} {
		s.Set(base)
		resp, err := s.RoundTrip(&http.Request{})
		if err != nil || resp.Status != base.name || !s.HasBase() {
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

// A burst needs more than the two connections that Go keeps for each host, and a host can bear fewer
// than there are workers.
func TestSwitchableTransportBoundsConnections(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ keeps, opens, wantKept, wantOpen int }{
		"Go's default":        {0, 0, connsPerHost, connsPerHost},
		"the user's own many": {100, 200, 100, 200},
		"the user's own few":  {1, 4, connsPerHost, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := &http.Transport{MaxIdleConnsPerHost: tc.keeps, MaxConnsPerHost: tc.opens}
			(&SwitchableTransport{}).Set(base)
			if base.MaxIdleConnsPerHost != tc.wantKept || base.MaxConnsPerHost != tc.wantOpen {
				t.Errorf("of a host %d connections are kept and %d open, want %d and %d", base.MaxIdleConnsPerHost,
					base.MaxConnsPerHost, tc.wantKept, tc.wantOpen)
			}
		})
	}
}
