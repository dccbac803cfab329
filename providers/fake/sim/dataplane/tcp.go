package dataplane

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// dialTimeout is the time that a target has to accept before the next one is tried.
const dialTimeout = 3 * time.Second

// tcpFrontend accepts connections and pipes each to a target.
type tcpFrontend struct {
	*backend
	listener *net.TCPListener
	wg       sync.WaitGroup
	// dialing is canceled with the frontend, so that closing does not wait for a target.
	dialing context.Context
	cancel  context.CancelFunc

	connsMu sync.Mutex
	closed  bool
	conns   map[net.Conn]struct{}
}

var _ frontend = (*tcpFrontend)(nil)

func startTCP(l *net.TCPListener, f Frontend, c clock.WithTicker) *tcpFrontend {
	ctx, cancel := context.WithCancel(context.Background())
	t := &tcpFrontend{backend: newBackend(f, c), listener: l, dialing: ctx, cancel: cancel, conns: map[net.Conn]struct{}{}}
	t.wg.Go(t.accept)
	return t
}

func (t *tcpFrontend) close() {
	_ = t.listener.Close()
	t.cancel()
	t.connsMu.Lock()
	t.closed = true
	for conn := range t.conns {
		_ = conn.Close()
	}
	t.connsMu.Unlock()
	t.wg.Wait()
	t.stop()
}

// acceptPause prevents a busy loop when file descriptors run out.
const acceptPause = 50 * time.Millisecond

func (t *tcpFrontend) accept() {
	for {
		conn, err := t.listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			<-t.clock.After(acceptPause)
			continue
		}
		t.wg.Go(func() { t.serve(conn) })
	}
}

// track registers a connection, to be closed with the frontend. It returns false if the frontend is already
// closed.
func (t *tcpFrontend) track(conn net.Conn) bool {
	t.connsMu.Lock()
	defer t.connsMu.Unlock()
	if t.closed {
		_ = conn.Close()
		return false
	}
	t.conns[conn] = struct{}{}
	return true
}

func (t *tcpFrontend) untrack(conn net.Conn) {
	t.connsMu.Lock()
	defer t.connsMu.Unlock()
	delete(t.conns, conn)
	_ = conn.Close()
}

func (t *tcpFrontend) serve(client *net.TCPConn) {
	if !t.track(client) {
		return
	}
	defer t.untrack(client)
	settings := t.current()
	from := addrPort(client.RemoteAddr())
	if !settings.allows(from.Addr()) {
		reset(client)
		return
	}
	target, ok := t.dial(from.Addr())
	if !ok {
		reset(client)
		return
	}
	defer t.balancer.closed(addrPort(target.RemoteAddr()))
	if !t.track(target) {
		return
	}
	defer t.untrack(target)
	header := proxyHeader(settings.ProxyProtocol, from, addrPort(client.LocalAddr()))
	if _, err := target.Write(header); err != nil {
		reset(client)
		return
	}
	pipe(client, target, settings.idleTimeout())
}

// reset makes the client see a refused connection instead of an empty response.
func reset(conn *net.TCPConn) { _ = conn.SetLinger(0) }

// dial connects to a usable target, trying each of them at most once.
func (t *tcpFrontend) dial(client netip.Addr) (*net.TCPConn, bool) {
	dialer := net.Dialer{Timeout: dialTimeout}
	tried := map[netip.AddrPort]bool{}
	for {
		target, ok := t.balancer.pick(client, tried)
		if !ok {
			return nil, false
		}
		conn, err := dialer.DialContext(t.dialing, "tcp", target.String())
		if err == nil {
			return conn.(*net.TCPConn), true
		}
		t.balancer.closed(target)
		tried[target] = true
	}
}

// pipe copies both directions until both sides have ended, or the connection is idle for too long.
func pipe(a, b *net.TCPConn, idle time.Duration) {
	extendDeadline := func() {
		deadline := time.Now().Add(idle)
		_ = a.SetDeadline(deadline)
		_ = b.SetDeadline(deadline)
	}
	extendDeadline()
	var wg sync.WaitGroup
	wg.Go(func() { forward(a, b, extendDeadline) })
	forward(b, a, extendDeadline)
	wg.Wait()
}

// forward copies one direction, and passes on the end of the stream. Any other end closes both directions.
func forward(to, from *net.TCPConn, extendDeadline func()) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			extendDeadline()
			if _, err := to.Write(buffer[:n]); err != nil {
				_ = from.Close()
				return
			}
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) || to.CloseWrite() != nil {
			_ = to.Close()
			_ = from.Close()
		}
		return
	}
}

// addrPort of a TCP socket, IPv4 in its short form.
func addrPort(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
