package controllers

import (
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/guard"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
)

// Options are the flags of the controllers.
type Options struct {
	Guard guard.Options
	// AuditPeriod is the longest time that drift in the cloud stays undetected.
	AuditPeriod time.Duration
	// Classes selects the Services that get load balancers.
	Classes loadbalancer.Classes
	// DefaultProvider is the cloud of Services that select none of several; empty for the first one.
	DefaultProvider string
	// MoveDelay is how long both load balancers of a move work.
	MoveDelay time.Duration
	// Routes are the clouds with pod routes.
	Routes *RouteClouds
	// PodCIDRs are the ranges from which podCIDRs are allocated.
	PodCIDRs podcidr.Config
}

// AuditController is the audit's name in --controllers. It can never change.
const AuditController = "load-balancer-audit-controller"
