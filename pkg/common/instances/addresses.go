package instances

import (
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// AddressList collects a node's addresses in the order in which they are added, each of a type
// once. The zero value is empty.
type AddressList struct {
	// WithoutIPv6 leaves IPv6 addresses out.
	WithoutIPv6 bool

	list []v1.NodeAddress
	err  error
}

// Add appends an address unless it is empty. What is to be an IP address and is none is remembered
// for Err.
func (l *AddressList) Add(kind v1.NodeAddressType, address string) {
	if address == "" {
		return
	}
	ip, err := netip.ParseAddr(address)
	switch isIP := kind == v1.NodeInternalIP || kind == v1.NodeExternalIP; {
	case isIP && err != nil && l.err == nil:
		l.err = fmt.Errorf("%s %q is no IP address", kind, address)
	case isIP && l.WithoutIPv6 && ip.Is6():
		return
	}
	if one := (v1.NodeAddress{Type: kind, Address: address}); !slices.Contains(l.list, one) {
		l.list = append(l.list, one)
	}
}

// Remove takes an address out, whatever its type.
func (l *AddressList) Remove(address string) {
	l.list = slices.DeleteFunc(l.list, func(one v1.NodeAddress) bool { return one.Address == address })
}

// Addresses returns the addresses; the caller may change the slice. The error says which was the
// first IP address that is none: nothing that is known of such a node is to be trusted.
func (l *AddressList) Addresses() ([]v1.NodeAddress, error) { return slices.Clone(l.list), l.err }
