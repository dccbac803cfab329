package sim

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// pagedList is one paged list: objects by key, a filter for the query, and their format.
type pagedList[S, T any] struct {
	kind   string
	all    map[string]S
	filter func(S) bool
	render func(S) T
}

// page returns one page in the order of keys. The token is the last key of the previous page, so a page is
// correct even if objects were created or deleted in between.
func (l pagedList[S, T]) page(r *http.Request, size int) (api.Page[T], error) {
	after, err := l.parseToken(r.FormValue("page"))
	if err != nil {
		return api.Page[T]{}, err
	}
	out := api.Page[T]{Items: []T{}}
	last := ""
	for _, key := range sortedKeys(l.all) {
		if key <= after || !l.filter(l.all[key]) {
			continue
		}
		if len(out.Items) == size {
			out.Next = l.token(last)
			break
		}
		out.Items = append(out.Items, l.render(l.all[key]))
		last = key
	}
	return out, nil
}

func (l pagedList[S, T]) token(last string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(l.kind + ">" + last))
}

func (l pagedList[S, T]) parseToken(token string) (after string, err error) {
	if token == "" {
		return "", nil
	}
	content, err := base64.RawURLEncoding.DecodeString(token)
	after, ok := strings.CutPrefix(string(content), l.kind+">")
	if err != nil || !ok {
		return "", invalid("page %q is not a token of a list of %s", token, l.kind)
	}
	return after, nil
}

// listPage returns a page of a list of the state.
func listPage[S, T any](c *Cloud, r *http.Request, list func(*tx) pagedList[S, T]) (page api.Page[T], err error) {
	err = c.store.view(r.Context(), func(t *tx) (err error) {
		page, err = list(t).page(r, t.rules.pageSize)
		return err
	})
	return page, err
}

// parseSet returns a comma-separated parameter as a set.
func parseSet(r *http.Request, name string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.SplitSeq(r.FormValue(name), ",") {
		if word != "" {
			set[word] = true
		}
	}
	return set
}

// matches reports whether a filter is not set or has the value.
func matches(filter, value string) bool { return filter == "" || filter == value }

// listInstances returns the instances with one of the IDs or names, or all without either.
func listInstances(c *Cloud, r *http.Request) (any, error) {
	ids, names := parseSet(r, "ids"), parseSet(r, "names")
	filtered := r.Form.Has("ids") || r.Form.Has("names")
	return listPage(c, r, func(t *tx) pagedList[*instance, api.Instance] {
		return pagedList[*instance, api.Instance]{"instances", t.Instances, func(i *instance) bool {
			return !filtered || ids[i.ID] || names[i.Name]
		}, t.renderInstance}
	})
}

func listAddresses(c *Cloud, r *http.Request) (any, error) {
	cluster, name, prefix := r.FormValue("cluster"), r.FormValue("name"), r.FormValue("prefix")
	return listPage(c, r, func(t *tx) pagedList[*api.Address, api.Address] {
		return pagedList[*api.Address, api.Address]{"addresses", t.Addresses, func(a *api.Address) bool {
			return matches(cluster, a.Cluster) && matches(name, a.Name) && strings.HasPrefix(a.Name, prefix)
		}, t.renderAddress}
	})
}

func listLoadBalancers(c *Cloud, r *http.Request) (any, error) {
	cluster, name := r.FormValue("cluster"), r.FormValue("name")
	page, err := listPage(c, r, func(t *tx) pagedList[*loadBalancer, api.LoadBalancer] {
		return pagedList[*loadBalancer, api.LoadBalancer]{"load-balancers", t.LoadBalancers, func(lb *loadBalancer) bool {
			return matches(cluster, lb.Cluster) && matches(name, lb.Name)
		}, t.renderLoadBalancer}
	})
	c.addWarnings(page.Items)
	return page, err
}

func listRoutes(c *Cloud, r *http.Request) (any, error) {
	cluster := r.FormValue("cluster")
	return listPage(c, r, func(t *tx) pagedList[*api.Route, api.Route] {
		return pagedList[*api.Route, api.Route]{"routes", t.Routes, func(route *api.Route) bool {
			return matches(cluster, route.Cluster)
		}, t.renderRoute}
	})
}
