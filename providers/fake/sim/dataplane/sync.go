package dataplane

import (
	"net"
	"reflect"
)

// Sync updates the frontends to the desired ones: it opens, changes and closes ports, and retries ports that
// could not be opened. Problems returns the failed ones.
func (p *Proxy) Sync(want []Frontend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	wanted := make(map[key]bool, len(want))
	for _, f := range want {
		wanted[key{f.Protocol, f.Address}] = true
	}
	// Close first: a port may move from one frontend to another.
	for k, f := range p.frontends {
		if !wanted[k] {
			f.close()
			delete(p.frontends, k)
		}
	}
	p.problems = map[string]error{}
	for _, f := range want {
		if err := p.ensure(f); err != nil {
			p.problems[f.ID] = err
		}
	}
}

func (p *Proxy) ensure(f Frontend) error {
	k := key{f.Protocol, f.Address}
	if have, ok := p.frontends[k]; ok {
		if !reflect.DeepEqual(have.settings, f) {
			have.update(f)
			have.settings = f
		}
		return nil
	}
	started, err := p.start(f)
	if err != nil {
		return listenError(f, err)
	}
	p.frontends[k] = &openFrontend{frontend: started, settings: f}
	return nil
}

func (p *Proxy) start(f Frontend) (frontend, error) {
	if f.Protocol == UDP {
		conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(f.Address))
		if err != nil {
			return nil, err
		}
		return startUDP(conn, f, p.clock), nil
	}
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(f.Address))
	if err != nil {
		return nil, err
	}
	return startTCP(listener, f, p.clock), nil
}
