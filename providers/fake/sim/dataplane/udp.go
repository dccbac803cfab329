package dataplane

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// maxSessions bounds the sockets that one UDP frontend opens; further clients are dropped.
const maxSessions = 1024

// maxDatagram is the largest UDP payload.
const maxDatagram = 65535

// udpFrontend gives each client address a session with one target.
type udpFrontend struct {
	*backend
	conn *net.UDPConn
	wg   sync.WaitGroup

	sessionsMu sync.Mutex
	sessions   map[netip.AddrPort]*session
}

type session struct {
	target netip.AddrPort
	conn   *net.UDPConn
}

var _ frontend = (*udpFrontend)(nil)

func startUDP(conn *net.UDPConn, f Frontend, c clock.WithTicker) *udpFrontend {
	u := &udpFrontend{backend: newBackend(f, c), conn: conn, sessions: map[netip.AddrPort]*session{}}
	u.wg.Go(u.receive)
	return u
}

func (u *udpFrontend) close() {
	_ = u.conn.Close()
	u.closeSessions()
	u.wg.Wait()
	u.stop()
}

func (u *udpFrontend) receive() {
	buffer := make([]byte, maxDatagram)
	for {
		n, client, err := u.conn.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			// A session may have been opened while close cleared them.
			u.closeSessions()
			return
		}
		if err != nil {
			continue // an ICMP error of an earlier datagram
		}
		settings := u.current()
		if !settings.allows(client.Addr()) {
			continue
		}
		if s := u.session(client, settings.idleTimeout()); s != nil {
			_ = s.conn.SetReadDeadline(time.Now().Add(settings.idleTimeout()))
			_, _ = s.conn.Write(buffer[:n]) // UDP guarantees nothing
		}
	}
}

func (u *udpFrontend) closeSessions() {
	u.sessionsMu.Lock()
	defer u.sessionsMu.Unlock()
	for client, s := range u.sessions {
		_ = s.conn.Close()
		delete(u.sessions, client)
	}
}

// session returns the client's session. It creates one if there is none or its target is no longer usable,
// and returns nil without a usable target.
func (u *udpFrontend) session(client netip.AddrPort, idle time.Duration) *session {
	u.sessionsMu.Lock()
	defer u.sessionsMu.Unlock()
	if s, ok := u.sessions[client]; ok {
		if u.balancer.isUsable(s.target) {
			return s
		}
		_ = s.conn.Close()
		delete(u.sessions, client)
	}
	if len(u.sessions) >= maxSessions {
		return nil
	}
	target, ok := u.balancer.pick(client.Addr().Unmap(), nil)
	if !ok {
		return nil
	}
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(target))
	if err != nil {
		u.balancer.closed(target)
		return nil
	}
	s := &session{target: target, conn: conn}
	u.sessions[client] = s
	u.wg.Go(func() { u.sendReplies(client, s, idle) })
	return s
}

// sendReplies sends the target's datagrams to the client until the session is idle for too long, or is closed.
func (u *udpFrontend) sendReplies(client netip.AddrPort, s *session, idle time.Duration) {
	defer u.closeSession(client, s)
	_ = s.conn.SetReadDeadline(time.Now().Add(idle))
	buffer := make([]byte, maxDatagram)
	for {
		n, err := s.conn.Read(buffer)
		var timeout net.Error
		switch {
		case err == nil:
			_ = s.conn.SetReadDeadline(time.Now().Add(idle))
			_, _ = u.conn.WriteToUDPAddrPort(buffer[:n], client)
		case errors.Is(err, net.ErrClosed), errors.As(err, &timeout) && timeout.Timeout():
			return
		}
		// Any other error means that the target's port is closed for now (ECONNREFUSED).
	}
}

func (u *udpFrontend) closeSession(client netip.AddrPort, s *session) {
	u.sessionsMu.Lock()
	defer u.sessionsMu.Unlock()
	_ = s.conn.Close()
	u.balancer.closed(s.target)
	if u.sessions[client] == s {
		delete(u.sessions, client)
	}
}
