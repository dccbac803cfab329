package api

import (
	"context"
	"encoding/json"
	"net/http"
)

// Secret is a certificate with its key, or one of them.
type Secret struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Type   string `json:"secret_type"`
}

// Container is a certificate and its key, as two secrets.
type Container struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Type   string `json:"type"`
}

// GetSecret implements KeyManagerAPI.
func (c *Clients) GetSecret(ctx context.Context, id string) (Secret, error) {
	return bare[Secret](ctx, c, "ShowSecret", "secrets", id)
}

// GetContainer implements KeyManagerAPI.
func (c *Clients) GetContainer(ctx context.Context, id string) (Container, error) {
	return bare[Container](ctx, c, "ShowContainer", "containers", id)
}

// bare reads an object that is not wrapped, which is how Barbican answers.
func bare[T any](ctx context.Context, c *Clients, operation string, path ...string) (T, error) {
	var (
		raw    json.RawMessage
		object T
	)
	if err := c.do(ctx, request{service: KeyManager, operation: operation, method: http.MethodGet, path: path}, &raw); err != nil {
		return object, err
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return object, unexpected(operation, err)
	}
	return object, nil
}
