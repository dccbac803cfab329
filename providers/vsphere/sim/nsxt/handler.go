package nsxt

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Prefix is the prefix of the paths of the policy API.
const Prefix = "/policy/api/v1"

func methodNotAllowed() *apiError {
	return &apiError{http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", 0, "Method not allowed"}
}

// ServeHTTP implements http.Handler.
func (m *Manager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	result, err := m.serve(r)
	if err != nil {
		reply(w, err.status, document{
			"httpStatus": err.name, "error_code": err.code, "module_name": "policy", "error_message": err.message,
		})
		return
	}
	if result == nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	reply(w, http.StatusOK, result)
}

func reply(w http.ResponseWriter, status int, d document) {
	content, err := json.Marshal(d)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(content)
}

// serve answers one request. The caller holds the lock.
func (m *Manager) serve(r *http.Request) (document, *apiError) {
	if !m.authorized(r) {
		return nil, &apiError{http.StatusForbidden, "FORBIDDEN", 403,
			"The credentials were incorrect or the account specified has been locked."}
	}
	path := strings.TrimPrefix(r.URL.Path, Prefix)
	_, isCollection := collections()[pattern(path)]
	switch {
	case isCollection || path == realizedPath || path == searchPath:
		if r.Method != http.MethodGet {
			return nil, methodNotAllowed()
		}
		if path == realizedPath {
			return m.realized(r.URL.Query().Get("intent_path"))
		}
		if path == searchPath {
			return m.search(r)
		}
		return m.page(m.list(path), r)
	default:
		return m.serveObject(path, r)
	}
}

// search returns a page of the objects that match the query of a request. Of the query language it has terms of a field
// and a value, joined by AND; a query with anything else is refused. The caller holds the lock.
func (m *Manager) search(r *http.Request) (document, *apiError) {
	terms, err := parseQuery(r.URL.Query().Get("query"))
	if err != nil {
		return nil, err
	}
	var found []document
	for _, path := range slices.Sorted(maps.Keys(m.objects)) {
		d := m.objects[path]
		if !slices.ContainsFunc(terms, func(t term) bool { return !t.matches(d) }) {
			found = append(found, d)
		}
	}
	return m.page(found, r)
}

// serveObject answers a request for one object. The caller holds the lock.
func (m *Manager) serveObject(path string, r *http.Request) (document, *apiError) {
	collection, id := cutLast(path)
	kind, known := collections()[pattern(collection)]
	if !known || id == "" {
		return nil, &apiError{http.StatusNotFound, "NOT_FOUND", 98, "No such API: " + r.URL.Path}
	}
	switch r.Method {
	case http.MethodGet:
		d, exists := m.objects[path]
		if !exists {
			return nil, notFound(path)
		}
		return shown(d), nil
	case http.MethodPut:
		return m.replace(path, collection, kind, r)
	case http.MethodPatch:
		if !kind.patch {
			return nil, methodNotAllowed()
		}
		return nil, m.patch(path, collection, kind, r)
	case http.MethodDelete:
		return nil, m.remove(path)
	}
	return nil, methodNotAllowed()
}

// pattern returns a path with the IDs of nested collections replaced by a star.
func pattern(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if i+1 < len(parts) && (part == "ip-pools" || part == "tier-1s" || part == "domains") {
			parts[i+1] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// page returns a page of objects. The cursor is the number of the first object, padded as the API does.
func (m *Manager) page(objects []document, r *http.Request) (document, *apiError) {
	start := 0
	if cursor := r.URL.Query().Get("cursor"); cursor != "" {
		n, err := strconv.Atoi(cursor)
		if err != nil || n < 0 || n > len(objects) {
			return nil, invalid(255, "Invalid cursor %s.", cursor)
		}
		start = n
	}
	size := m.options.PageSize
	if n, err := strconv.Atoi(r.URL.Query().Get("page_size")); err == nil && n > 0 {
		size = min(size, n)
	}
	end := min(start+size, len(objects))
	results := make([]any, 0, end-start)
	for _, d := range objects[start:end] {
		results = append(results, shown(d))
	}
	out := document{"results": results, "sort_by": "display_name", "sort_ascending": true}
	if start == 0 {
		out["result_count"] = len(objects)
	}
	if end < len(objects) {
		out["cursor"] = fmt.Sprintf("%010d", end)
	}
	return out, nil
}

// shown returns an object without the fields of its realized state, as responses show it.
func shown(d document) document {
	d = maps.Clone(d)
	maps.DeleteFunc(d, func(key string, _ any) bool { return strings.HasPrefix(key, "-") })
	return d
}

// replace creates an object, or replaces one with the revision in the request.
func (m *Manager) replace(path, collection string, k kind, r *http.Request) (document, *apiError) {
	d, err := decode(r)
	if err != nil {
		return nil, err
	}
	return m.store(path, collection, k, d)
}

// patch creates an object, or replaces the fields of one that the request has: it needs no revision.
func (m *Manager) patch(path, collection string, k kind, r *http.Request) *apiError {
	d, err := decode(r)
	if err != nil {
		return err
	}
	if before, exists := m.objects[path]; exists {
		fields := d
		d = maps.Clone(before)
		maps.Copy(d, fields)
		d["_revision"] = before["_revision"]
	}
	_, err = m.store(path, collection, k, d)
	return err
}

func decode(r *http.Request) (document, *apiError) {
	var d document
	if err := json.NewDecoder(r.Body).Decode(&d); err != nil || d == nil {
		return nil, invalid(287, "Json mapping exception: the body is not a JSON object.")
	}
	return d, nil
}

// store checks and stores an object, and allocates an address for a new allocation.
func (m *Manager) store(path, collection string, k kind, d document) (document, *apiError) {
	parent, _ := cutLast(collection)
	if _, exists := m.objects[parent]; !exists && parent != "/infra" && !strings.HasSuffix(parent, "/domains/default") {
		return nil, invalid(500012, "The path=[%s] is invalid", parent)
	}
	before, exists := m.objects[path]
	if m.options.Clock.Now().Before(m.purgedAt[path]) {
		return nil, invalid(500045, "An object with the same path=[%s] is marked for deletion. Use another path, or "+
			"wait for the purge cycle.", path)
	}
	if exists && collectionOf(path) == "ip-allocations" {
		return shown(before), nil // An allocation cannot be updated: a request for an existing one does nothing.
	}
	if err := k.checkCommon(path, d, before); err != nil {
		return nil, err
	}
	if err := checkTags(d); err != nil {
		return nil, err
	}
	if err := k.check(m, path, d, before); err != nil {
		return nil, err
	}
	stored := m.put(path, d)
	if collectionOf(path) == "ip-allocations" {
		m.allocate(path)
	}
	return shown(stored), nil
}

// checkCommon checks the fields that all kinds share: the revision, the required fields, and the resource type, for
// which it sets the default.
func (k kind) checkCommon(path string, d, before document) *apiError {
	exists := before != nil
	if exists && d["_revision"] != before["_revision"] {
		return &apiError{http.StatusPreconditionFailed, "PRECONDITION_FAILED", 604, fmt.Sprintf("The object %s is "+
			"present in the system with revision %v. Fetch the latest copy of the object and retry operation.", path,
			before["_revision"])}
	}
	if d.text("resource_type") == "" {
		d["resource_type"] = k.types[0]
	}
	if !slices.Contains(k.types, d.text("resource_type")) {
		return invalid(220, "Invalid resource type %s.", d.text("resource_type"))
	}
	if exists && before.text("resource_type") != d.text("resource_type") {
		return invalid(500047, "The resource type of %s cannot be changed.", path)
	}
	for _, field := range k.required {
		if value := d[field]; value == nil || value == "" {
			return invalid(255, "Field level validation errors: {%s is a required field}", field)
		}
	}
	return nil
}

// checkTags checks the limits of tags.
func checkTags(d document) *apiError {
	tags := d.documents("tags")
	if len(tags) > 30 {
		return invalid(500041, "The number of tags exceeds 30.")
	}
	for _, t := range tags {
		if len(t.text("scope")) > 128 || len(t.text("tag")) > 256 {
			return invalid(500042, "The tag %s is too long.", t.text("scope"))
		}
	}
	return nil
}

// remove deletes an object without children and references.
func (m *Manager) remove(path string) *apiError {
	if _, exists := m.objects[path]; !exists {
		return notFound(path)
	}
	if referrers := m.referrers(path); len(referrers) > 0 {
		return invalid(500030, "The object path=[%s] cannot be deleted as either it has children or it is being referenced "+
			"by other objects path=[%s].", path, strings.Join(referrers, ","))
	}
	m.discard(path)
	return nil
}
