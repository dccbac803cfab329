package awserr

import "context"

// Pages is a paginator of the SDK.
type Pages[Page, Options any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, options ...func(*Options)) (*Page, error)
}

// Collect reads all pages of an operation and returns their items, in a list that is never nil.
func Collect[Page, Options, T any](ctx context.Context, operation string, pages Pages[Page, Options],
	items func(*Page) []T) ([]T, error) {
	all := []T{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Wrap(operation, err)
		}
		all = append(all, items(page)...)
	}
	return all, nil
}
