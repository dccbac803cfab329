package sim

import "fmt"

// CloudConfig returns the cloud.conf of a manager for this cloud, reached at endpoint, a URL.
func (c *Cloud) CloudConfig(endpoint string) string {
	a, p := c.Account(), c.Places()
	return fmt.Sprintf(`[Global]
auth-url = %q
username = %q
password = %q
tenant-name = %q
domain-name = %q
region = %q

[LoadBalancer]
subnet-id = %q
floating-network-id = %q

[Route]
router-id = %q
`, endpoint+"/identity/v3", a.Username, a.Password, a.ProjectName, a.DomainName, a.Region, p.PrivateSubnet,
		p.PublicNetwork, p.Router)
}
