package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// A binary with one of these names has a defect, which comparisons must catch.
const (
	ignoresTags    = "lying-ccm"  // ignores the annotation for tags
	deletesNothing = "leaky-ccm"  // deletes no load balancer
	makesExtraCall = "costly-ccm" // makes one call more
)

// variant returns the cloud with the defect that the name of the program stands for.
func variant(cloud cloudprovider.Interface, configFile string) cloudprovider.Interface {
	switch name := filepath.Base(os.Args[0]); name {
	case ignoresTags, deletesNothing, makesExtraCall:
		return defectiveCloud{cloud, name, configFile}
	default:
		return cloud
	}
}

type defectiveCloud struct {
	cloudprovider.Interface
	defect, configFile string
}

func (c defectiveCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	balancer, ok := c.Interface.LoadBalancer()
	return defectiveBalancer{balancer, c}, ok
}

type defectiveBalancer struct {
	cloudprovider.LoadBalancer
	cloud defectiveCloud
}

func (b defectiveBalancer) EnsureLoadBalancer(ctx context.Context, cluster string, svc *v1.Service, nodes []*v1.Node) (
	*v1.LoadBalancerStatus, error) {
	switch b.cloud.defect {
	case ignoresTags:
		svc = svc.DeepCopy()
		delete(svc.Annotations, intent.KeyTags)
	case makesExtraCall:
		if err := b.cloud.call(ctx); err != nil {
			return nil, err
		}
	}
	return b.LoadBalancer.EnsureLoadBalancer(ctx, cluster, svc, nodes)
}

func (b defectiveBalancer) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, svc *v1.Service) error {
	if b.cloud.defect == deletesNothing {
		return nil
	}
	return b.LoadBalancer.EnsureLoadBalancerDeleted(ctx, cluster, svc)
}

var endpoint = regexp.MustCompile(`endpoint *= *(\S+)`)

// call makes a call that has no effect.
func (c defectiveCloud) call(ctx context.Context) error {
	content, err := os.ReadFile(c.configFile)
	if err != nil {
		return err
	}
	url := string(endpoint.FindSubmatch(content)[1]) + "/v1/zones"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
