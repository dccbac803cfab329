package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// List implements api.NSXT. It reads pages of the default size of NSX-T, and of fewer objects where these are so large
// that a response would be too long: a pool has all its members.
func (p *Policy) List(ctx context.Context, collection string) ([]json.RawMessage, error) {
	for {
		size := p.pageSize(collection)
		all, err := p.listPages(ctx, collection, size)
		if !errors.Is(err, errTooLong) || size == 1 {
			return all, err
		}
		p.setPageSize(collection, max(size/pageShrink, 1))
	}
}

func (p *Policy) pageSize(collection string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.pageSizes[collection], defaultPageSize)
}

func (p *Policy) setPageSize(collection string, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pageSizes[collection] = size
}

// listPages reads all pages of a collection. A cursor is only used with the size of its page.
func (p *Policy) listPages(ctx context.Context, collection string, size int) ([]json.RawMessage, error) {
	var all []json.RawMessage
	query := url.Values{}
	if size != defaultPageSize {
		query.Set("page_size", strconv.Itoa(size))
	}
	for {
		content, err := p.call(ctx, http.MethodGet, collection, query.Encode(), nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Results []json.RawMessage `json:"results"`
			Cursor  string            `json:"cursor"`
		}
		if err := json.Unmarshal(content, &page); err != nil {
			return nil, wrap(operationName(http.MethodGet, collection), fmt.Errorf("the response cannot be parsed: %w", err))
		}
		all = append(all, page.Results...)
		if page.Cursor == "" {
			return all, nil
		}
		query.Set("cursor", page.Cursor)
	}
}
