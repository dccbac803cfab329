package podcidr

import "net/netip"

// pool are the podCIDRs of one size in one range of the cluster, by index.
type pool struct {
	cluster netip.Prefix
	bits    int
	// used is rebuilt before podCIDRs are taken.
	used []bool
	// next is the index at which the search starts: behind the last one that was taken, so that a podCIDR whose Node has
	// just been deleted is not the next one to be taken. Its routes may exist for a while.
	next int
}

func newPool(cluster netip.Prefix, bits int) *pool {
	return &pool{cluster: cluster, bits: bits, used: make([]bool, 1<<(bits-cluster.Bits()))}
}

// mark marks all podCIDRs as used that overlap a range.
func (p *pool) mark(r netip.Prefix) {
	switch {
	case !p.cluster.Overlaps(r):
	case r.Bits() <= p.cluster.Bits():
		for i := range p.used {
			p.used[i] = true
		}
	default:
		first := p.index(r.Masked().Addr())
		for i := range 1 << max(0, p.bits-r.Bits()) {
			p.used[first+i] = true
		}
	}
}

// take returns the next podCIDR that is not used.
func (p *pool) take() (netip.Prefix, bool) {
	for i := range p.used {
		at := (p.next + i) % len(p.used)
		if !p.used[at] {
			p.used[at], p.next = true, (at+1)%len(p.used)
			return p.at(at), true
		}
	}
	return netip.Prefix{}, false
}

// index returns the index of the podCIDR that contains an address of the range.
func (p *pool) index(addr netip.Addr) int {
	bytes, index := addr.AsSlice(), 0
	for bit := p.cluster.Bits(); bit < p.bits; bit++ {
		index = index<<1 | int(bytes[bit/8]>>(7-bit%8)&1)
	}
	return index
}

// at returns the podCIDR of an index.
func (p *pool) at(index int) netip.Prefix {
	bytes := p.cluster.Addr().AsSlice()
	for bit := p.bits - 1; bit >= p.cluster.Bits(); bit-- {
		bytes[bit/8] |= byte(index&1) << (7 - bit%8)
		index >>= 1
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return netip.PrefixFrom(addr, p.bits)
}
