package dataplane

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// testTimeout bounds how long a test waits for sockets before it fails.
const testTimeout = 10 * time.Second

func newProxy(t *testing.T) *Proxy {
	t.Helper()
	p := New(clock.RealClock{})
	t.Cleanup(p.Close)
	return p
}

// freePort returns a loopback address with a port that was free a moment ago.
func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return netip.MustParseAddrPort(l.Addr().String())
}

// named is a TCP target that sends its name, and then echoes.
func named(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	return serveTCP(t, func(conn net.Conn) {
		fmt.Fprintln(conn, name)
		_, _ = io.Copy(conn, conn)
	})
}

func serveTCP(t *testing.T, serve func(net.Conn)) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

func dial(t *testing.T, addr netip.AddrPort) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// ask connects and returns the first line, or the error.
func ask(t *testing.T, addr netip.AddrPort) (string, error) {
	t.Helper()
	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		return "", err // a refusal may overtake the connection
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(testTimeout))
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}

// eventually polls, because sockets and checks have no clock that a test could step.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within %v: %s", testTimeout, what)
}

func TestTCPForwardsBothWaysAndHalfCloses(t *testing.T) {
	p, at := newProxy(t), freePort(t)
	p.Sync([]Frontend{{ID: "f", Protocol: TCP, Address: at, Targets: []netip.AddrPort{named(t, "a")}}})
	conn := dial(t, at)
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != "a\nhello" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTargetsTakeTurns(t *testing.T) {
	p, at := newProxy(t), freePort(t)
	p.Sync([]Frontend{{ID: "f", Protocol: TCP, Address: at, Targets: []netip.AddrPort{named(t, "a"), named(t, "b")}}})
	counts := map[string]int{}
	for range 10 {
		name, err := ask(t, at)
		if err != nil {
			t.Fatal(err)
		}
		counts[name]++
	}
	if diff := cmp.Diff(map[string]int{"a": 5, "b": 5}, counts); diff != "" {
		t.Error(diff)
	}
}

func TestDeadTargetIsSkippedBeforeAnyCheck(t *testing.T) {
	p, at := newProxy(t), freePort(t)
	p.Sync([]Frontend{{ID: "f", Protocol: TCP, Address: at, Targets: []netip.AddrPort{freePort(t), named(t, "b")}}})
	for range 4 {
		if name, err := ask(t, at); err != nil || name != "b" {
			t.Fatalf("got %q, %v", name, err)
		}
	}
}

func TestSourceRanges(t *testing.T) {
	tests := map[string]struct {
		ranges []string
		served bool
	}{
		"none":                {nil, true},
		"client is inside":    {[]string{"10.0.0.0/8", "127.0.0.0/8"}, true},
		"client is outside":   {[]string{"10.0.0.0/8"}, false},
		"only the other kind": {[]string{"::/0"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, at := newProxy(t), freePort(t)
			f := Frontend{ID: "f", Protocol: TCP, Address: at, Targets: []netip.AddrPort{named(t, "a")}}
			for _, r := range test.ranges {
				f.SourceRanges = append(f.SourceRanges, netip.MustParsePrefix(r))
			}
			p.Sync([]Frontend{f})
			if _, err := ask(t, at); (err == nil) != test.served {
				t.Errorf("served is %v, want %v (%v)", err == nil, test.served, err)
			}
		})
	}
}

func TestHTTPCheckTakesATargetOutAndIn(t *testing.T) {
	var status = make(chan int, 1)
	status <- http.StatusOK
	checked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code := <-status
		status <- code
		if r.URL.Path != "/healthz" {
			code = http.StatusNotFound
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(checked.Close)
	set := func(code int) { <-status; status <- code }

	p, at := newProxy(t), freePort(t)
	p.Sync([]Frontend{{
		ID: "f", Protocol: TCP, Address: at, Targets: []netip.AddrPort{named(t, "a")},
		Check: Check{
			Protocol: HTTP, Path: "/healthz", Port: netip.MustParseAddrPort(checked.Listener.Addr().String()).Port(),
			Interval: 10 * time.Millisecond, Timeout: time.Second, Healthy: 2, Unhealthy: 2,
		},
	}})
	served := func() bool { _, err := ask(t, at); return err == nil }
	eventually(t, "healthy target is served", served)
	set(http.StatusServiceUnavailable)
	eventually(t, "unhealthy target is not served", func() bool { return !served() })
	set(http.StatusOK)
	eventually(t, "recovered target is served", served)
}

func TestTCPCheckOfUDPTargets(t *testing.T) {
	p, at := newProxy(t), freePort(t)
	checked := named(t, "check")
	good, bad := udpEcho(t, "good"), udpEcho(t, "bad")
	f := Frontend{
		ID: "f", Protocol: UDP, Address: at, Targets: []netip.AddrPort{bad},
		Check: Check{Protocol: TCP, Port: freePort(t).Port(), Interval: time.Hour, Timeout: time.Second, Healthy: 1,
			Unhealthy: 1},
	}
	if f.Check.passes(t.Context(), bad) {
		t.Error("a closed port passes a TCP check")
	}
	f.Check.Port, f.Targets = checked.Port(), []netip.AddrPort{good}
	if !f.Check.passes(t.Context(), good) {
		t.Error("an open port fails a TCP check")
	}
	p.Sync([]Frontend{f})
	if got := askUDP(t, dialUDP(t, at), "x"); got != "good:x" {
		t.Errorf("got %q", got)
	}
}

func TestAffinityKeepsAClientOnItsTarget(t *testing.T) {
	p, at := newProxy(t), freePort(t)
	p.Sync([]Frontend{{
		ID: "f", Protocol: TCP, Address: at, Affinity: time.Hour,
		Targets: []netip.AddrPort{named(t, "a"), named(t, "b"), named(t, "c")},
	}})
	first, err := ask(t, at)
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if name, err := ask(t, at); err != nil || name != first {
			t.Fatalf("got %q, %v; want %q", name, err, first)
		}
	}
}

func TestProxyProtocolTellsTheClient(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			echo := serveTCP(t, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
			p, at := newProxy(t), freePort(t)
			p.Sync([]Frontend{{ID: "f", Protocol: TCP, Address: at, Targets: []netip.AddrPort{echo}, ProxyProtocol: version}})
			conn := dial(t, at)
			from := addrPort(conn.LocalAddr())
			_ = conn.(*net.TCPConn).CloseWrite()
			got, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("PROXY TCP4 127.0.0.1 127.0.0.1 %d %d\r\n", from.Port(), at.Port())
			if version == 2 {
				want = "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c" + "\x7f\x00\x00\x01\x7f\x00\x00\x01" +
					string([]byte{byte(from.Port() >> 8), byte(from.Port()), byte(at.Port() >> 8), byte(at.Port())})
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIdleConnectionEnds(t *testing.T) {
	p, at := newProxy(t), freePort(t)
	p.Sync([]Frontend{{ID: "f", Protocol: TCP, Address: at, IdleTimeout: 30 * time.Millisecond,
		Targets: []netip.AddrPort{named(t, "a")}}})
	conn := dial(t, at)
	start := time.Now()
	if _, err := io.ReadAll(conn); errors.Is(err, syscall.ETIMEDOUT) || time.Since(start) >= testTimeout {
		t.Errorf("the idle connection was not ended: %v", err)
	}
}

// udpEcho answers each datagram with its name and the datagram.
func udpEcho(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, maxDatagram)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(append([]byte(name+":"), buffer[:n]...), from)
		}
	}()
	return netip.MustParseAddrPort(conn.LocalAddr().String())
}

func askUDP(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, maxDatagram)
	n, err := conn.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return string(buffer[:n])
}

func dialUDP(t *testing.T, at netip.AddrPort) net.Conn {
	t.Helper()
	conn, err := net.Dial("udp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(testTimeout))
	return conn
}

func TestUDPSessionsStayAndMoveWithTheirTarget(t *testing.T) {
	p, at := newProxy(t), freePort(t)
	a, b := udpEcho(t, "a"), udpEcho(t, "b")
	f := Frontend{ID: "f", Protocol: UDP, Address: at, Targets: []netip.AddrPort{a, b}}
	p.Sync([]Frontend{f})
	one, two := dialUDP(t, at), dialUDP(t, at)
	for range 3 {
		if got := askUDP(t, one, "x") + " " + askUDP(t, two, "y"); got != "a:x b:y" {
			t.Fatalf("got %q", got)
		}
	}
	f.Targets = []netip.AddrPort{b}
	p.Sync([]Frontend{f})
	if got := askUDP(t, one, "z"); got != "b:z" {
		t.Errorf("got %q from a session whose target was removed", got)
	}
}

func TestSyncClosesWhatIsNotWantedAndOpensWhatBecameFree(t *testing.T) {
	p, at := newProxy(t), freePort(t)
	taken, err := net.Listen("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	f := Frontend{ID: "f", Protocol: TCP, Address: at, Targets: []netip.AddrPort{named(t, "a")}}
	p.Sync([]Frontend{f})
	if problem := p.Problems()["f"]; !errors.Is(problem, syscall.EADDRINUSE) {
		t.Fatalf("problem is %v", problem)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	p.Sync([]Frontend{f})
	if name, err := ask(t, at); err != nil || name != "a" {
		t.Fatalf("got %q, %v; problems %v", name, err, p.Problems())
	}
	open := dial(t, at)
	p.Sync(nil)
	if _, err := net.Dial("tcp", at.String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the port is still open: %v", err)
	}
	if _, err := io.ReadAll(open); errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("the connection is still open: %v", err)
	}
}

func TestCloseIsFinal(t *testing.T) {
	p, at := New(clock.RealClock{}), freePort(t)
	p.Close()
	p.Sync([]Frontend{{ID: "f", Protocol: TCP, Address: at}})
	if _, err := net.Dial("tcp", at.String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a closed proxy opened a port: %v", err)
	}
}
