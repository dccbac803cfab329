package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// Options configure New. Config is required.
type Options struct {
	Config config.Global
	// Transport sends all requests, without credentials; nil builds one with those of the configuration.
	Transport http.RoundTripper
	// Operations waits for changes; nil calls the cloud's own wait again and again.
	Operations api.Operations
	Clock      clock.Clock
	Retry      cloudapi.Retry
}

// New returns a Client. It makes no call.
func New(o Options) *Client {
	c := &Client{config: o.Config, operations: o.Operations, clock: clocks.OrReal(o.Clock), retry: o.Retry}
	c.retry.Clock = c.clock
	c.health = cloudapi.NewHealth(c.clock)
	if c.operations == nil {
		c.operations = poller{c.clock}
	}
	c.environment = snapshot.NewValue(snapshot.ValueOptions[api.Environment]{Clock: c.clock, Read: c.readEnvironment})
	base := o.Transport
	if base == nil {
		base = authenticated(c.config)
	}
	c.http = http.Client{
		Transport: cloudapi.NewTransport(cloudapi.TransportOptions{
			Provider: names.Scheme, Base: base, Describe: describe, Clock: c.clock, Limits: limits, Classify: classify,
			Observe: c.health.Observe,
		}),
		// Following a redirect would send the token to another host.
		CheckRedirect: keepResponse,
	}
	return c
}

// Health returns the error of the API, and since when it fails.
func (c *Client) Health() (time.Time, error) { return c.health.Err(service) }

// Get implements api.API.
func (c *Client) Get(ctx context.Context, call *api.Call, at api.Target, out any) error {
	e, err := c.Environment(ctx)
	if err != nil {
		return err
	}
	return c.get(ctx, e, call, at, out)
}

// page is one page of a list. Items are a list or, of an aggregated list, a map of places.
type page struct {
	Items         json.RawMessage `json:"items"`
	Unreachables  []string        `json:"unreachables"`
	NextPageToken string          `json:"nextPageToken"`
}

// List implements api.API.
func (c *Client) List(ctx context.Context, call *api.Call, at api.Target, query url.Values) ([]json.RawMessage, error) {
	e, err := c.Environment(ctx)
	if err != nil {
		return nil, err
	}
	r := request{call: call.String(), method: call.HTTP, path: path(e, call, at), query: url.Values{},
		timeout: CallTimeout}
	for key, values := range query {
		r.query[key] = values
	}
	if call.HTTP == http.MethodPost {
		r.body = json.RawMessage("{}")
	}
	r.query.Set("maxResults", "500")
	if call.Place == api.Aggregated {
		r.query.Set("returnPartialSuccess", "true")
	}
	var all []json.RawMessage
	partial := api.PartialError{Call: call}
	for {
		var p page
		if err := c.do(ctx, r, &p); err != nil {
			return nil, err
		}
		items, err := p.items(call, &partial)
		if err != nil {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: call.String(), Err: err}
		}
		all = append(all, items...)
		if p.NextPageToken == "" {
			return all, partial.OrNil()
		}
		if p.NextPageToken == r.query.Get("pageToken") {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: call.String(),
				Err: errors.New("the list does not end: a page names itself as the next")}
		}
		r.query.Set("pageToken", p.NextPageToken)
	}
}

// items returns the items of a page, and notes the places that did not answer.
func (p page) items(call *api.Call, partial *api.PartialError) ([]json.RawMessage, error) {
	var list []json.RawMessage
	for _, place := range p.Unreachables {
		partial.Add(place)
	}
	if len(p.Items) == 0 {
		return nil, nil
	}
	if call.Place != api.Aggregated {
		err := json.Unmarshal(p.Items, &list)
		return list, err
	}
	var places map[string]map[string]json.RawMessage
	if err := json.Unmarshal(p.Items, &places); err != nil {
		return nil, err
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		content := places[place]
		if isUnreachable(content["warning"]) {
			partial.Add(place)
		}
		var items []json.RawMessage
		if found, ok := content[call.Collection]; ok {
			if err := json.Unmarshal(found, &items); err != nil {
				return nil, err
			}
		}
		list = append(list, items...)
	}
	return list, nil
}

// isUnreachable reports whether a place has no items because it did not answer: then the list is incomplete.
func isUnreachable(warning json.RawMessage) bool {
	var w struct {
		Code string `json:"code"`
	}
	return json.Unmarshal(warning, &w) == nil && w.Code == "UNREACHABLE"
}

// Change implements api.API.
func (c *Client) Change(ctx context.Context, call *api.Call, at api.Target, body any) error {
	e, err := c.Environment(ctx)
	if err != nil {
		return err
	}
	r := request{call: call.String(), method: call.HTTP, path: path(e, call, at), timeout: CallTimeout, mutates: true,
		// The cloud makes a change with a known ID only once, so that a lost response can be asked for again.
		query: url.Values{"requestId": {uuid.NewString()}}}
	if body != nil {
		if r.body, err = json.Marshal(body); err != nil {
			return fmt.Errorf("%s: encode the request: %w", call, err)
		}
	}
	var operation api.Operation
	if err := c.do(ctx, r, &operation); err != nil {
		return err
	}
	if operation.Status != api.StatusDone {
		project := projectOf(e, call)
		wait := func(ctx context.Context, o api.Operation) (api.Operation, error) { return c.wait(ctx, project, o) }
		if operation, err = c.operations.Wait(ctx, operation, wait); err != nil {
			return err
		}
	}
	return operation.ErrorOf(call.String())
}

// wait makes one call that waits for an operation.
func (c *Client) wait(ctx context.Context, project string, o api.Operation) (api.Operation, error) {
	r := request{call: "globalOperations.wait", method: http.MethodPost, timeout: waitTimeout,
		path: []string{"projects", project, "global", "operations", o.Name, "wait"}}
	switch {
	case o.Zone != "":
		r.call, r.path = "zoneOperations.wait",
			[]string{"projects", project, "zones", api.Last(o.Zone), "operations", o.Name, "wait"}
	case o.Region != "":
		r.call, r.path = "regionOperations.wait",
			[]string{"projects", project, "regions", api.Last(o.Region), "operations", o.Name, "wait"}
	}
	err := c.do(ctx, r, &o)
	if cloudapi.Is(err, cloudapi.NotFound) {
		// Old operations are deleted. What became of the change is unknown.
		err = &cloudapi.Error{Class: cloudapi.Unavailable, Operation: r.call, Err: cloudapi.CauseOf(err)}
	}
	return o, err
}
