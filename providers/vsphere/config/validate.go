package config

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
)

// thumbprintForm matches a SHA-1 or SHA-256 digest in hexadecimal, with or without colons.
var thumbprintForm = regexp.MustCompile(`\A(?:[0-9A-Fa-f]{2}:?){19}` +
	`(?:[0-9A-Fa-f]{2}|[0-9A-Fa-f]{2}:?(?:[0-9A-Fa-f]{2}:?){11}[0-9A-Fa-f]{2})\z`)

// maxPort is the highest TCP port.
const maxPort = 65535

func (r *resolver) checkVCenter(section string, v VCenter, c VirtualCenter) {
	if strings.Contains(v.Server, "://") || strings.ContainsAny(v.Server, "/ ") {
		r.file.Errorf(section, "server", "must be a host name or an IP address without https:// and a path, not %q", v.Server)
	}
	if port, err := strconv.Atoi(v.Port); err != nil || port < 1 || port > maxPort {
		r.file.Errorf(section, "port", "must be a TCP port from 1 to %d, not %q", maxPort, v.Port)
	}
	if v.Thumbprint != "" && !thumbprintForm.MatchString(v.Thumbprint) {
		r.file.Errorf(section, "thumbprint", "must be the SHA-1 or SHA-256 digest of the certificate in hexadecimal, "+
			"such as AB:CD:…, not %q", v.Thumbprint)
	}
	r.checkLogin(section, v)
	for _, item := range v.Datacenters {
		if strings.HasPrefix(item, "Datacenter:") && strings.TrimPrefix(item, "Datacenter:") == "" {
			r.file.Errorf(section, "datacenters", "must have an identifier such as Datacenter:datacenter-3, not %q", item)
		}
	}
	if c.Server == "" && strings.Contains(section, " ") && !r.file.Has(section, "server") && !looksLikeAddress(v.Server) {
		r.file.Warnf(section, "server", "is not set, so that %q is the address of the vCenter", v.Server)
	}
}

// checkLogin checks the credentials and the certificate settings of a vCenter.
func (r *resolver) checkLogin(section string, v VCenter) {
	if (v.Secret.Name == "") != (v.Secret.Namespace == "") {
		r.file.Errorf(section, "secret-name", "secret-name and secret-namespace must be set together")
	}
	if strings.HasPrefix(v.Credentials.User, "-----BEGIN") {
		r.file.Errorf(section, "user", "is a certificate: logins with SAML tokens are not supported; set the name of a "+
			"user of vCenter Single Sign-On")
	}
	if v.Insecure && (v.CAFile != "" || v.Thumbprint != "") {
		r.file.Warnf(section, "insecure-flag", "is true, so that ca-file and thumbprint have no effect")
	}
}

// looksLikeAddress reports whether a text is an IP address or a host name with a domain.
func looksLikeAddress(text string) bool {
	_, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return err == nil || strings.Contains(text, ".")
}

// parseFamilies parses IP families without regard to case; IPv4 by default.
func (r *resolver) parseFamilies(section string, list List) []v1.IPFamily {
	var out []v1.IPFamily
	for _, item := range list {
		family := v1.IPv4Protocol
		switch strings.ToLower(item) {
		case "ipv4":
		case "ipv6":
			family = v1.IPv6Protocol
		default:
			r.file.Errorf(section, "ip-family", "must be ipv4, ipv6 or both, not %q", item)
			continue
		}
		if !slices.Contains(out, family) {
			out = append(out, family)
		}
	}
	if len(out) == 0 {
		return []v1.IPFamily{v1.IPv4Protocol}
	}
	return out
}

// resolveLabels sets the tag categories of regions and zones, unless only one of the two is set.
func (r *resolver) resolveLabels() {
	l := r.config.File.Labels
	if (l.Region == "") != (l.Zone == "") {
		r.file.Warnf(sectionLabels, "", "has only one of region and zone: nodes get neither; set both, or none")
		return
	}
	r.config.Region, r.config.Zone = l.Region, l.Zone
}

// resolveAddresses sets the rules that select the addresses of nodes.
func (r *resolver) resolveAddresses() {
	n := r.config.File.Nodes
	r.config.Addresses = Addresses{
		Internal: AddressRule{
			Ranges:  r.parseRanges("internal-network-subnet-cidr", n.InternalCIDR),
			Exclude: r.parseRanges("exclude-internal-network-subnet-cidr", n.ExcludeInternalCIDR), Network: n.InternalNetwork,
		},
		External: AddressRule{
			Ranges:  r.parseRanges("external-network-subnet-cidr", n.ExternalCIDR),
			Exclude: r.parseRanges("exclude-external-network-subnet-cidr", n.ExcludeExternalCIDR), Network: n.ExternalNetwork,
		},
	}
}

func (r *resolver) parseRanges(key string, list List) []netip.Prefix {
	var out []netip.Prefix
	for _, item := range list {
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			r.file.Errorf(sectionNodes, key, "must be a list of ranges such as 10.0.0.0/8, not %q", item)
			continue
		}
		out = append(out, prefix.Masked())
	}
	return out
}

// warnIgnored warns about keys that have no effect.
func (r *resolver) warnIgnored() {
	for key, reason := range map[string]string{
		"api-disable":          "the gRPC API does not exist any more",
		"api-binding":          "the gRPC API does not exist any more",
		"soap-roundtrip-count": "failed calls are retried by the class of their error",
	} {
		if r.file.Has(sectionGlobal, key) {
			r.file.Warnf(sectionGlobal, key, "has no effect: %s", reason)
		}
	}
	for name := range r.config.File.VirtualCenter {
		section := common.Section(sectionVCenter, name)
		if r.file.Has(section, "soap-roundtrip-count") {
			r.file.Warnf(section, "soap-roundtrip-count", "has no effect: failed calls are retried by the class of their error")
		}
	}
}
