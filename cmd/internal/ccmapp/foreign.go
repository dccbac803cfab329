package ccmapp

import "github.com/unified-ccm/unified-ccm/pkg/common/provider"

// registerForeignPrefixes registers the prefixes of Service annotations of clouds without a provider here.
// The descriptors of providers declare those of the other clouds.
func registerForeignPrefixes() {
	provider.RegisterForeignPrefixes("azure", "service.beta.kubernetes.io/azure-")
	provider.RegisterForeignPrefixes("gce", "cloud.google.com/", "networking.gke.io/")
	provider.RegisterForeignPrefixes("hcloud", "load-balancer.hetzner.cloud/")
	provider.RegisterForeignPrefixes("digitalocean", "service.beta.kubernetes.io/do-loadbalancer-")
	provider.RegisterForeignPrefixes("oci", "service.beta.kubernetes.io/oci-", "oci.oraclecloud.com/")
	provider.RegisterForeignPrefixes("ibm", "service.kubernetes.io/ibm-load-balancer-cloud-provider-")
	provider.RegisterForeignPrefixes("linode", "service.beta.kubernetes.io/linode-loadbalancer-")
	provider.RegisterForeignPrefixes("scaleway", "service.beta.kubernetes.io/scw-loadbalancer-")
}
