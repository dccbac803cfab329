package instances

import (
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// AddressList collects a node's addresses in the order in which they are added, without duplicates. The zero
// value is empty.
type AddressList struct {
	// WithoutIPv6 skips IPv6 addresses.
	WithoutIPv6 bool

	list []v1.NodeAddress
	err  error
}

// Add appends an address unless it is empty. An invalid IP address makes Addresses fail.
func (l *AddressList) Add(kind v1.NodeAddressType, address string) {
	if address == "" {
		return
	}
	ip, err := netip.ParseAddr(address)
	switch isIP := kind == v1.NodeInternalIP || kind == v1.NodeExternalIP; {
	case isIP && err != nil && l.err == nil:
		l.err = fmt.Errorf("%s %q is not an IP address", kind, address)
	case isIP && l.WithoutIPv6 && ip.Is6():
		return
	}
	if added := (v1.NodeAddress{Type: kind, Address: address}); !slices.Contains(l.list, added) {
		l.list = append(l.list, added)
	}
}

// Remove removes an address of any type.
func (l *AddressList) Remove(address string) {
	l.list = slices.DeleteFunc(l.list, func(a v1.NodeAddress) bool { return a.Address == address })
}

// Addresses returns the addresses; the caller may modify the slice. The error names the first invalid IP
// address: other data of such a node cannot be trusted either.
func (l *AddressList) Addresses() ([]v1.NodeAddress, error) { return slices.Clone(l.list), l.err }
