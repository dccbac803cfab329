package core

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// zoneIDPrefixes are the short names of regions in zone IDs; other regions have their whole name there.
var zoneIDPrefixes = map[string]string{
	"us-east-1": "use1", "us-east-2": "use2", "us-west-1": "usw1", "us-west-2": "usw2", "eu-west-1": "euw1",
	"eu-central-1": "euc1", "ap-southeast-1": "apse1", "cn-north-1": "cnn1", "us-gov-west-1": "usgw1",
}

// ZoneID returns the ID of a zone. AWS maps letters to IDs differently in each account; here in order.
func (o *Options) ZoneID(zone string) string {
	return cmp.Or(zoneIDPrefixes[o.Region], o.Region) + "-az" + strconv.Itoa(1+slices.Index(o.Zones, zone))
}

// partition is a part of AWS with its own accounts and names.
type partition struct{ regionPrefix, id, domain string }

// partitions are those that the SDK knows. A region without one of the prefixes is in the first partition of AWS.
var partitions = []partition{
	{"cn-", "aws-cn", "amazonaws.com.cn"},
	{"us-gov-", "aws-us-gov", "amazonaws.com"},
	{"us-iso-", "aws-iso", "c2s.ic.gov"},
	{"us-isob-", "aws-iso-b", "sc2s.sgov.gov"},
	{"eu-isoe-", "aws-iso-e", "cloud.adc-e.uk"},
	{"us-isof-", "aws-iso-f", "csp.hci.ic.gov"},
	{"eusc-", "aws-eusc", "amazonaws.eu"},
	{"", "aws", "amazonaws.com"},
}

func (o *Options) partition() partition {
	i := slices.IndexFunc(partitions, func(p partition) bool { return strings.HasPrefix(o.Region, p.regionPrefix) })
	return partitions[i]
}

// Partition returns the partition of the region.
func (o *Options) Partition() string { return o.partition().id }

// DNSSuffix returns the domain of the partition's public names.
func (o *Options) DNSSuffix() string { return o.partition().domain }

// InternalDomain returns the domain of instances' private names; the oldest region has its own.
func (o *Options) InternalDomain() string {
	if o.Region == GlobalRegion {
		return "ec2.internal"
	}
	return o.Region + ".compute.internal"
}

// PublicDomain returns the domain of instances' public names.
func (o *Options) PublicDomain() string {
	if o.Region == GlobalRegion {
		return "compute-1." + o.DNSSuffix()
	}
	return o.Region + ".compute." + o.DNSSuffix()
}
