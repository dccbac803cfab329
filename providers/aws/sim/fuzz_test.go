package sim

import (
	"net/http"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// FuzzRequest sends any form to any service: whatever a client sends, the simulator must neither panic nor
// respond with an internal error, and a rejected request must change nothing.
func FuzzRequest(f *testing.F) {
	for _, seed := range []struct{ service, form string }{
		{"ec2", "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=tag:a&Filter.1.Value.1=*&MaxResults=5"},
		{"ec2", "Action=RunInstances&Version=2016-11-15&ImageId=ami-1&MinCount=1&MaxCount=2&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=a"},
		{"ec2", "Action=CreateSecurityGroup&Version=2016-11-15&GroupName=a&GroupDescription=b&VpcId=vpc-0"},
		{"ec2", "Action=AuthorizeSecurityGroupIngress&GroupId=sg-0&IpPermissions.1.IpProtocol=tcp&IpPermissions.1.FromPort=1&IpPermissions.1.ToPort=2&IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0"},
		{"ec2", "Action=CreateRoute&RouteTableId=rtb-0&DestinationCidrBlock=10.0.0.0/24&InstanceId=i-0"},
		{"ec2", "Action=ModifyInstanceAttribute&InstanceId=i-0&SourceDestCheck.Value=false"},
		{"ec2", "Action=CreateTags&ResourceId.1=i-0&Tag.1.Key=a&Tag.1.Value=b"},
		{"elasticloadbalancing", "Action=CreateLoadBalancer&Version=2015-12-01&Name=web&Type=network&Subnets.member.1=subnet-0&Tags.member.1.Key=a"},
		{"elasticloadbalancing", "Action=CreateTargetGroup&Version=2015-12-01&Name=web&Protocol=TCP&Port=80&VpcId=vpc-0&HealthCheckPort=traffic-port"},
		{"elasticloadbalancing", "Action=CreateLoadBalancer&Version=2012-06-01&LoadBalancerName=web&Listeners.member.1.Protocol=TCP&Listeners.member.1.LoadBalancerPort=80&Listeners.member.1.InstancePort=80"},
		{"elasticloadbalancing", "Action=ConfigureHealthCheck&Version=2012-06-01&LoadBalancerName=web&HealthCheck.Target=TCP:80&HealthCheck.Interval=10"},
		{"sts", "Action=AssumeRole&Version=2011-06-15&RoleArn=arn:aws:iam::123456789012:role/a&RoleSessionName=ab"},
	} {
		f.Add(seed.service, seed.form)
	}
	f.Fuzz(func(t *testing.T, service, form string) {
		c := newCloud(t, Options{Seed: 1})
		if _, err := c.Launch(world.Machine{Name: "a"}); err != nil {
			t.Fatal(err)
		}
		before := c.Objects()
		w := post(c, service, form)
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if after := c.Objects(); w.Code != http.StatusOK && !equalCounts(before, after) {
			t.Errorf("refused, and yet %v became %v: %s", before, after, w.Body)
		}
	})
}
