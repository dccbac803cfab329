package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// pipes is a listener to which its own transport dials, without a network.
type pipes struct {
	conns         chan net.Conn
	opened, gone  atomic.Int32
	closed        chan struct{}
	closeListener sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Addr() net.Addr { return &net.IPAddr{} }

func (p *pipes) Close() error {
	p.closeListener.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.opened.Add(1)
	p.conns <- theirs
	return ours, nil
}

// The calls of a burst share connections, and soon after it no connection occupies a thread of the API.
func TestConnectionsAreReusedAndClosedWhenIdle(t *testing.T) {
	const atOnce, rounds = 32, 5
	synctest.Test(t, func(t *testing.T) {
		at := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		server := &http.Server{
			Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(100 * time.Millisecond) }),
			ConnState: func(_ net.Conn, s http.ConnState) {
				if s == http.StateClosed {
					at.gone.Add(1)
				}
			},
			ReadHeaderTimeout: time.Hour,
		}
		go func() { _ = server.Serve(at) }()
		transport := newHTTPTransport(nil)
		transport.DialContext = at.dial
		base := &cloudapi.SwitchableTransport{}
		base.Set(transport)
		client := http.Client{Transport: base}
		for range rounds {
			var calls sync.WaitGroup
			for range atOnce {
				calls.Go(func() {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://openstack.invalid/", nil)
					if err != nil {
						t.Error(err)
						return
					}
					resp, err := client.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				})
			}
			calls.Wait()
			// The interval of polling a load balancer that is being created.
			time.Sleep(2600 * time.Millisecond)
		}
		synctest.Wait()
		if opened, gone := at.opened.Load(), at.gone.Load(); opened != atOnce || gone != 0 {
			t.Errorf("%d connections were opened and %d closed during a burst of %d calls at once, want each to be "+
				"kept", opened, gone, atOnce)
		}
		time.Sleep(5*time.Second - 2600*time.Millisecond)
		synctest.Wait()
		if gone := at.gone.Load(); gone != atOnce {
			t.Errorf("of %d connections %d are closed 5 s after the last call, which is when Apache closes them", atOnce, gone)
		}
		_ = server.Close()
	})
}
