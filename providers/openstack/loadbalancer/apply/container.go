package apply

import (
	"context"
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

// CheckContainer checks that a certificate exists, before a listener is created that needs it. It reads no
// secret. Only references into Barbican can be checked.
func (a *Applier) CheckContainer(ctx context.Context, ref string) error {
	if ref == "" || a.settings.ContainerStore != model.ContainerStoreBarbican {
		return nil
	}
	container, err := annotation.ParseContainer(ref)
	if err != nil {
		return err
	}
	if container.Secret {
		err = a.API.CheckSecret(ctx, container.ID)
	} else {
		err = a.API.CheckContainer(ctx, container.ID)
	}
	if cloudapi.Is(err, cloudapi.NotFound) {
		return &cloudapi.Error{Class: cloudapi.Invalid, Operation: annotation.KeyTLSContainer,
			Err: fmt.Errorf("%s is not in Barbican: store the certificate there, or correct the reference", ref)}
	}
	return err
}
