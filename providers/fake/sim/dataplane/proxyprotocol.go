package dataplane

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// signatureV2 is the prefix of every binary header of the PROXY protocol, which no other protocol has.
const signatureV2 = "\r\n\r\n\x00\r\nQUIT\n"

// proxyHeader encodes source and destination of a connection in the PROXY protocol of HAProxy
// (proxy-protocol.txt, versions 1 and 2). Version 0 has no header.
func proxyHeader(version int, from, to netip.AddrPort) []byte {
	switch version {
	case 1:
		family := "TCP4"
		if from.Addr().Is6() {
			family = "TCP6"
		}
		return fmt.Appendf(nil, "PROXY %s %s %s %d %d\r\n", family, from.Addr(), to.Addr(), from.Port(), to.Port())
	case 2:
		const proxyCommand, tcp4, tcp6 = 0x21, 0x11, 0x21
		family := byte(tcp4)
		if from.Addr().Is6() {
			family = tcp6
		}
		addresses := append(from.Addr().AsSlice(), to.Addr().AsSlice()...)
		addresses = binary.BigEndian.AppendUint16(addresses, from.Port())
		addresses = binary.BigEndian.AppendUint16(addresses, to.Port())
		header := append([]byte(signatureV2), proxyCommand, family)
		header = binary.BigEndian.AppendUint16(header, uint16(len(addresses)))
		return append(header, addresses...)
	}
	return nil
}
