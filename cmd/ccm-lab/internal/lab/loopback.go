package lab

import (
	"fmt"
	"net"
	"net/netip"
)

// loopback is three adjacent /16 ranges of the loopback network that no other lab on this machine uses: for
// instances, for public and for internal load balancers.
type loopback struct {
	net.Listener
	first byte
}

const (
	// firstLoopback is the first range of the first lab: 127.65.0.0/16 and the two after it, which are also the
	// fake cloud's defaults.
	firstLoopback = 65
	// claimPort at the start of the first range is open while a lab uses the three.
	claimPort = 65065
	// maxLabs is the number of labs that can forward traffic at the same time.
	maxLabs = 20
)

// claimLoopback finds free ranges. An open port marks them as used; the kernel closes it when this process
// ends, for any reason.
func claimLoopback() (*loopback, error) {
	var err error
	for i := range maxLabs {
		first := byte(firstLoopback + 3*i)
		var listener *net.TCPListener
		listener, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, first,
			255, 254}), claimPort)))
		if err == nil {
			return &loopback{Listener: listener, first: first}, nil
		}
	}
	return nil, fmt.Errorf("no free range of loopback addresses to forward traffic with, of %d: %w", maxLabs, err)
}

func (l *loopback) ranges() (instances, public, internal []netip.Prefix) {
	prefix := func(n byte) []netip.Prefix {
		return []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{127, l.first + n, 0, 0}), 16)}
	}
	return prefix(0), prefix(1), prefix(2)
}
