package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// pageSize is the number of objects in a response of a vCenter.
const pageSize = 100

// collectorRef is the reference of the property collector of vcsim.
func collectorRef() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "PropertyCollector", Value: "propertyCollector"}
}

// pagingCollector is the property collector of vcsim with the page size of a vCenter. Each session has one.
type pagingCollector struct{ simulator.PropertyCollector }

// RetrievePropertiesEx returns the first page.
func (p *pagingCollector) RetrievePropertiesEx(ctx *simulator.Context, r *types.RetrievePropertiesEx) soap.HasFault {
	if n := r.Options.MaxObjects; n <= 0 || n > pageSize {
		r.Options.MaxObjects = pageSize
	}
	return p.PropertyCollector.RetrievePropertiesEx(ctx, r)
}

// CancelRetrievePropertiesEx drops the further pages. vcsim does not have this method.
func (p *pagingCollector) CancelRetrievePropertiesEx(
	ctx *simulator.Context, r *types.CancelRetrievePropertiesEx,
) soap.HasFault {
	for token := r.Token; token != ""; {
		body, ok := p.ContinueRetrievePropertiesEx(ctx, &types.ContinueRetrievePropertiesEx{This: r.This,
			Token: token}).(*methods.ContinueRetrievePropertiesExBody)
		if !ok || body.Res == nil {
			break
		}
		token = body.Res.Returnval.Token
	}
	return &methods.CancelRetrievePropertiesExBody{Res: &types.CancelRetrievePropertiesExResponse{}}
}
