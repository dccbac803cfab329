package sim

import "strings"

// partition is the part of AWS to which the region belongs.
func (o *Options) partition() string {
	switch {
	case strings.HasPrefix(o.Region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(o.Region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// dnsSuffix is the domain of the partition's public names.
func (o *Options) dnsSuffix() string {
	if o.partition() == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// internalDomain is the domain of instances' private names; the oldest region has a name of its own.
func (o *Options) internalDomain() string {
	if o.Region == globalRegion {
		return "ec2.internal"
	}
	return o.Region + ".compute.internal"
}

// publicDomain is the domain of instances' public names.
func (o *Options) publicDomain() string {
	if o.Region == globalRegion {
		return "compute-1." + o.dnsSuffix()
	}
	return o.Region + ".compute." + o.dnsSuffix()
}
