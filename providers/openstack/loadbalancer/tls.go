package loadbalancer

import (
	"context"
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

// checkContainer looks whether a certificate is there, before a listener is made that cannot work
// without. It reads no secret. Only references into Barbican can be looked up.
func (c *Cloud) checkContainer(ctx context.Context, ref string) error {
	if ref == "" || c.settings.ContainerStore != ContainerStoreBarbican {
		return nil
	}
	container, err := annotation.ParseContainer(ref)
	if err != nil {
		return err
	}
	if container.Secret {
		err = c.api.CheckSecret(ctx, container.ID)
	} else {
		err = c.api.CheckContainer(ctx, container.ID)
	}
	if cloudapi.Is(err, cloudapi.NotFound) {
		return &cloudapi.Error{Class: cloudapi.Invalid, Operation: annotation.KeyTLSContainer,
			Err: fmt.Errorf("%s is not in Barbican: store the certificate there, or correct the reference", ref)}
	}
	return err
}
