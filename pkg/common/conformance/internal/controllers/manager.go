package controllers

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
)

// Manager is one run of the manager under test: the provider and the framework's controllers.
type Manager struct {
	// Cloud is the provider.
	Cloud   cloudprovider.Interface
	results *results
	// ctx ends when the process is stopped or killed.
	ctx context.Context
	end context.CancelFunc
}

// End ends the controllers and all calls of the provider.
func (m *Manager) End() { m.end() }

// Failures returns the errors of the controllers' calls that failed last, joined.
func (m *Manager) Failures() error { return m.results.failures() }

// Call returns a context for calls of the provider: it ends with the manager.
func (m *Manager) Call(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(m.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}
