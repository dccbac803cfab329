// Package dataplane forwards TCP and UDP in user space, from the addresses of simulated load balancers to the
// node ports of their members. It handles sockets only, and contains no code of a cloud.
package dataplane

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

// Protocols of frontends and checks.
const (
	TCP  = "TCP"
	UDP  = "UDP"
	HTTP = "HTTP"
)

// Algorithms of frontends, besides in turn.
const (
	LeastConnections = "least-connections"
	SourceIP         = "source-ip"
)

// Frontend is an open port and its targets.
type Frontend struct {
	// ID names the frontend in Problems.
	ID       string
	Protocol string // TCP or UDP
	Address  netip.AddrPort
	// SourceRanges may connect; empty allows all clients.
	SourceRanges []netip.Prefix
	// IdleTimeout closes an idle connection; 0 means DefaultIdleTimeout.
	IdleTimeout time.Duration
	// Targets receive the traffic.
	Targets []netip.AddrPort
	// Algorithm distributes new connections; empty is in turn.
	Algorithm string
	Check     Check
	// Affinity keeps a client's address on one target until it was silent for this duration; 0 disables it.
	Affinity time.Duration
	// ProxyProtocol is the version of the PROXY protocol header that TCP targets get; 0 is none.
	ProxyProtocol int
}

// Check configures the health checks of targets. The zero value counts all targets as healthy.
type Check struct {
	Protocol string // TCP (a connection is accepted), HTTP (a status from 200 to 399), or empty
	// Port to check; 0 is the target's own.
	Port uint16
	Path string
	// Interval between checks, and the Timeout of one.
	Interval, Timeout time.Duration
	// Healthy and Unhealthy are the numbers of consecutive results that change the health of a target. The first result of
	// a target takes effect at once, and until then it gets traffic.
	Healthy, Unhealthy int
}

// DefaultIdleTimeout applies to frontends without their own: the usual idle timeout of clouds.
const DefaultIdleTimeout = 60 * time.Second

// Proxy is a set of frontends. It is safe for concurrent use.
type Proxy struct {
	clock clock.WithTicker

	mu        sync.Mutex
	closed    bool
	frontends map[key]*openFrontend
	problems  map[string]error
}

// key has the immutable fields of a frontend: a change of them opens another socket.
type key struct {
	protocol string
	address  netip.AddrPort
}

// frontend is an open port.
type frontend interface {
	// update replaces all but protocol and address; connections stay.
	update(Frontend)
	// close closes the port and its connections, and waits for their goroutines.
	close()
}

// New returns a proxy without frontends. The clock drives checks and affinity.
func New(c clock.WithTicker) *Proxy {
	return &Proxy{clock: c, frontends: map[key]*openFrontend{}, problems: map[string]error{}}
}

// openFrontend is a frontend with an open port, and its settings.
type openFrontend struct {
	frontend
	settings Frontend
}

// Problems returns, by the frontends' IDs, the ports that could not be opened, with advice.
func (p *Proxy) Problems() map[string]error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problems // replaced, never changed
}

// Close closes all ports and connections, and returns when all goroutines have ended.
func (p *Proxy) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for k, f := range p.frontends {
		f.close()
		delete(p.frontends, k)
	}
}

func listenError(f Frontend, err error) error {
	fix := ""
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		fix = ": ports below 1024 need CAP_NET_BIND_SERVICE, or sysctl net.ipv4.ip_unprivileged_port_start=0"
	case errors.Is(err, syscall.EADDRINUSE):
		fix = ": another process has the port; it is tried again until that one ends"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		fix = ": the address is not on this machine; use address pools inside 127.0.0.0/8"
	}
	return fmt.Errorf("cannot open %s port %s%s (%w)", f.Protocol, f.Address, fix, err)
}

// allows reports whether a client may connect.
func (f Frontend) allows(client netip.Addr) bool {
	if len(f.SourceRanges) == 0 {
		return true
	}
	return slices.ContainsFunc(f.SourceRanges, func(p netip.Prefix) bool { return p.Contains(client.Unmap()) })
}

func (f Frontend) idleTimeout() time.Duration {
	if f.IdleTimeout > 0 {
		return f.IdleTimeout
	}
	return DefaultIdleTimeout
}
