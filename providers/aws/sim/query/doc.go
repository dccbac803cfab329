// Package query is the wire protocol of the older AWS APIs: requests are forms with numbered members,
// responses are XML. EC2 uses one dialect of it ("ec2"), Elastic Load Balancing and STS the other ("query").
// It contains no operations or state.
package query
