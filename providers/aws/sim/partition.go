package sim

import "strings"

// partitionOf is a part of AWS with its own accounts and names.
type partitionOf struct{ prefix, id, domain string }

// partitions are those that the SDK knows, by how the names of their regions begin. A region of no
// other one is in the first that AWS had.
var partitions = []partitionOf{
	{"cn-", "aws-cn", "amazonaws.com.cn"},
	{"us-gov-", "aws-us-gov", "amazonaws.com"},
	{"us-iso-", "aws-iso", "c2s.ic.gov"},
	{"us-isob-", "aws-iso-b", "sc2s.sgov.gov"},
	{"eu-isoe-", "aws-iso-e", "cloud.adc-e.uk"},
	{"us-isof-", "aws-iso-f", "csp.hci.ic.gov"},
	{"eusc-", "aws-eusc", "amazonaws.eu"},
	{"", "aws", "amazonaws.com"},
}

func (o *Options) inPartition() partitionOf {
	for _, p := range partitions {
		if strings.HasPrefix(o.Region, p.prefix) {
			return p
		}
	}
	return partitionOf{}
}

// partition returns the part of AWS to which the region belongs.
func (o *Options) partition() string { return o.inPartition().id }

// dnsSuffix returns the domain of the partition's public names.
func (o *Options) dnsSuffix() string { return o.inPartition().domain }

// internalDomain returns the domain of instances' private names; the oldest region has a name of its own.
func (o *Options) internalDomain() string {
	if o.Region == globalRegion {
		return "ec2.internal"
	}
	return o.Region + ".compute.internal"
}

// publicDomain returns the domain of instances' public names.
func (o *Options) publicDomain() string {
	if o.Region == globalRegion {
		return "compute-1." + o.dnsSuffix()
	}
	return o.Region + ".compute." + o.dnsSuffix()
}
