package instances

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"net/netip"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// nic returns a network interface with addresses.
func nic(network string, addresses ...string) api.NIC {
	return api.NIC{Network: network, Addresses: addresses, Device: 4000}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	four, six := []v1.IPFamily{v1.IPv4Protocol}, []v1.IPFamily{v1.IPv6Protocol}
	both := []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol}
	metadata := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	compressed := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return metadata(b.String())
	}
	for name, tc := range map[string]struct {
		families           []v1.IPFamily
		internal, external config.AddressRule
		nics               []api.NIC
		metadata, encoding string
		want, err          string
	}{
		"the first address is both": {nics: []api.NIC{nic("a", "10.0.0.1", "10.0.0.2")}, want: "internal 10.0.0.1, external 10.0.0.1"},
		"unusable addresses do not count": {
			nics: []api.NIC{nic("a", "127.0.0.1", "169.254.1.1", "fe80::1", "0.0.0.0", "224.0.0.1", "x", "10.0.0.1")},
			want: "internal 10.0.0.1, external 10.0.0.1",
		},
		"interfaces of the guest do not count": {
			nics: []api.NIC{{Network: "a", Addresses: []string{"172.17.0.1"}, Device: api.NoDevice}, nic("a", "10.0.0.1")},
			want: "internal 10.0.0.1, external 10.0.0.1",
		},
		"excluded virtual IP": {
			internal: config.AddressRule{Exclude: prefixes("10.0.0.9/32")}, external: config.AddressRule{Exclude: prefixes("10.0.0.9/32")},
			nics: []api.NIC{nic("a", "10.0.0.9", "10.0.0.1")}, want: "internal 10.0.0.1, external 10.0.0.1",
		},
		"the first range with an address": {
			internal: config.AddressRule{Ranges: prefixes("10.2.0.0/16", "10.1.0.0/16")},
			nics:     []api.NIC{nic("a", "10.1.0.1", "10.2.0.1")}, want: "internal 10.2.0.1",
		},
		"ranges before networks": {
			internal: config.AddressRule{Ranges: prefixes("10.2.0.0/16"), Network: "A"}, external: config.AddressRule{Network: "A"},
			nics: []api.NIC{nic("a", "10.1.0.1"), nic("b", "10.2.0.1")}, want: "internal 10.2.0.1, external 10.1.0.1",
		},
		"neither network": {
			internal: config.AddressRule{Network: "x"}, external: config.AddressRule{Network: "y"},
			nics: []api.NIC{nic("a", "10.1.0.1")}, err: "no network interface is on x or y",
		},
		"only IPv6": {families: six, nics: []api.NIC{nic("a", "10.0.0.1", "fd00::1")}, want: "internal fd00::1, external fd00::1"},
		"both, in order": {
			families: both, nics: []api.NIC{nic("a", "10.0.0.1", "fd00::1")},
			want: "internal fd00::1, external fd00::1, internal 10.0.0.1, external 10.0.0.1",
		},
		"a family without an address": {families: both, nics: []api.NIC{nic("a", "10.0.0.1")}, err: "no usable IPv6 address: the guest reports 10.0.0.1 on a"},
		"no interface":                {err: "VMware Tools report no host name or no network interface"},
		"static addresses first, in the order of the document": {
			metadata: metadata("network:\n  ethernets:\n    z: {addresses: [10.0.0.3/24]}\n    a: {addresses: [10.0.0.2/24]}\n"),
			nics:     []api.NIC{nic("a", "10.0.0.1", "10.0.0.2", "10.0.0.3")}, want: "internal 10.0.0.3, external 10.0.0.3",
		},
		"static addresses in an encoded document": {
			metadata: metadata("network: " + metadata("ethernets:\n  z: {addresses: [10.0.0.3/24]}\n") + "\nnetwork.encoding: base64\n"),
			nics:     []api.NIC{nic("a", "10.0.0.1", "10.0.0.3")}, want: "internal 10.0.0.3, external 10.0.0.3",
		},
		"static addresses in metadata with the short name of the encoding": {
			metadata: metadata("network:\n  ethernets:\n    z: {addresses: [10.0.0.3/24]}\n"), encoding: "b64",
			nics: []api.NIC{nic("a", "10.0.0.1", "10.0.0.3")}, want: "internal 10.0.0.3, external 10.0.0.3",
		},
		"static addresses in compressed metadata": {
			metadata: compressed("network:\n  ethernets:\n    z: {addresses: [10.0.0.3/24]}\n"), encoding: "gz+b64",
			nics: []api.NIC{nic("a", "10.0.0.1", "10.0.0.3")}, want: "internal 10.0.0.3, external 10.0.0.3",
		},
		"static addresses in a compressed document": {
			metadata: metadata("network: " + compressed("ethernets:\n  z: {addresses: [10.0.0.3/24]}\n") +
				"\nnetwork.encoding: gz+b64\n"),
			nics: []api.NIC{nic("a", "10.0.0.1", "10.0.0.3")}, want: "internal 10.0.0.3, external 10.0.0.3",
		},
		"metadata in another encoding do not count": {
			metadata: "%", encoding: "none", nics: []api.NIC{nic("a", "10.0.0.1")}, want: "internal 10.0.0.1, external 10.0.0.1",
		},
		"metadata that cannot be decoded": {metadata: "%", nics: []api.NIC{nic("a", "10.0.0.1")}, err: "guestinfo.metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.families == nil {
				tc.families = four
			}
			rules := AddressRules{Families: tc.families, Addresses: config.Addresses{Internal: tc.internal, External: tc.external}}
			m := api.Machine{HostName: "node", NICs: tc.nics, Metadata: tc.metadata, MetadataEncoding: cmp.Or(tc.encoding, "base64")}
			list, err := rules.nodeAddresses(m)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || len(list) > 0 {
					t.Errorf("%v, error %v, want %s", list, err, tc.err)
				}
				return
			}
			if err != nil || len(list) == 0 || list[0] != (v1.NodeAddress{Type: v1.NodeHostName, Address: "node"}) {
				t.Fatalf("%v, %v", list, err)
			}
			var have []string
			for _, a := range list[1:] {
				have = append(have, strings.ToLower(strings.TrimSuffix(string(a.Type), "IP"))+" "+a.Address)
			}
			if text := strings.Join(have, ", "); text != tc.want {
				t.Errorf("%s, want %s", text, tc.want)
			}
		})
	}
}

func TestInstanceTypesNeverChange(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"ubuntu64Guest": "ubuntu", "debian10_64Guest": "debian10", "rhel10_64Guest": "rhel10", "rhel9_64Guest": "rhel9", "vmwarePhoton64Guest": "photon",
		"darwin13_64Guest": "darwin", "otherLinux64Guest": "linux", "other3xLinuxGuest": "linux", "otherGuest64": "other",
		"coreos64Guest": "coreos", "redhatGuest": "rhel", "windows9Server64Guest": "win10server", "centos64Guest": "centos64",
		"centos7_64Guest": "centos7", "sles64Guest": "sles64", "oracleLinux64Guest": "oracleLinux", "vmkernel65Guest": "vmkernel65",
		"winNetEnterprise64Guest": "winnetenterprise", "turboLinux64Guest": "turbolinux", "eComStation2Guest": "eComStation2",
		"debian11_64Guest": "unknown", "other5xLinux64Guest": "unknown", "rockylinux_64Guest": "unknown", "": "unknown", " ": "unknown",
	} {
		if have := guestName(id); have != want {
			t.Errorf("%q: %s, want %s", id, have, want)
		}
	}
	if have := instanceType(api.Machine{CPUs: 1, MemoryMB: 512, GuestID: "x"}); have != "vsphere-vm.cpu-1.mem-0gb.os-unknown" {
		t.Error(have)
	}
}
