package kinds

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// The names of the kinds of health checks in plans.
const (
	NamePoolCheck = "HTTP health check"
	NameCheck     = "health check"
)

// probeRow returns the row of a number of a health check. A larger one that exists stays: people raise them by hand.
func probeRow[T any](name string, field func(T) *int64) rows.Row[T, T] {
	return rows.Row[T, T]{
		Name: name, Value: rows.Number(field), Ignore: func(have, want T) bool { return *field(have) >= *field(want) },
	}
}

// checkDescription is the row of the description, which the shared health check of internal load balancers lacks.
func checkDescription[T any](field func(T) *string) rows.Row[T, T] {
	return rows.Row[T, T]{
		Name: "description", Value: rows.Text(field), Ignore: func(_, want T) bool { return *field(want) == "" },
	}
}

// PoolCheck are the legacy health checks of target pools.
var PoolCheck = rows.Kind[*api.HTTPHealthCheck, *api.HTTPHealthCheck]{
	Name: NamePoolCheck,
	Key:  func(c *api.HTTPHealthCheck) string { return c.Name },
	Rows: rows.InPlace([]rows.Row[*api.HTTPHealthCheck, *api.HTTPHealthCheck]{
		{Name: "port", Value: rows.Number(func(c *api.HTTPHealthCheck) *int64 { return &c.Port })},
		{Name: "requestPath", Value: rows.Text(func(c *api.HTTPHealthCheck) *string { return &c.RequestPath })},
		probeRow("checkIntervalSec", func(c *api.HTTPHealthCheck) *int64 { return &c.CheckInterval }),
		probeRow("timeoutSec", func(c *api.HTTPHealthCheck) *int64 { return &c.Timeout }),
		probeRow("healthyThreshold", func(c *api.HTTPHealthCheck) *int64 { return &c.HealthyThreshold }),
		probeRow("unhealthyThreshold", func(c *api.HTTPHealthCheck) *int64 { return &c.UnhealthyThreshold }),
		checkDescription(func(c *api.HTTPHealthCheck) *string { return &c.Description }),
	}),
}

// Check are the health checks of backend services.
var Check = rows.Kind[*api.HealthCheck, *api.HealthCheck]{
	Name: NameCheck,
	Key:  func(c *api.HealthCheck) string { return c.Name },
	Rows: rows.InPlace([]rows.Row[*api.HealthCheck, *api.HealthCheck]{
		{Name: "type", Value: rows.Text(func(c *api.HealthCheck) *string { return &c.Type })},
		{Name: "port", Value: rows.Number(func(c *api.HealthCheck) *int64 { return &probeOf(c).Port })},
		{Name: "requestPath", Value: rows.Text(func(c *api.HealthCheck) *string { return &probeOf(c).RequestPath })},
		probeRow("checkIntervalSec", func(c *api.HealthCheck) *int64 { return &c.CheckInterval }),
		probeRow("timeoutSec", func(c *api.HealthCheck) *int64 { return &c.Timeout }),
		probeRow("healthyThreshold", func(c *api.HealthCheck) *int64 { return &c.HealthyThreshold }),
		probeRow("unhealthyThreshold", func(c *api.HealthCheck) *int64 { return &c.UnhealthyThreshold }),
		checkDescription(func(c *api.HealthCheck) *string { return &c.Description }),
	}),
}

// probeOf returns the request of a health check. One of another type has none. Observations are shared, so the request
// is a copy.
func probeOf(c *api.HealthCheck) *api.HTTPProbe {
	p := api.HTTPProbe{}
	if c.HTTP != nil {
		p = *c.HTTP
	}
	c.HTTP = &p
	return c.HTTP
}
