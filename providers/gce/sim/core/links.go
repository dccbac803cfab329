package core

import (
	"reflect"
	"slices"
	"strings"
	"sync"
)

// resolveLinks checks the resources that a request refers to, and makes the references canonical.
func (s *State) resolveLinks(k *Call, request any) error {
	return eachField("resource", reflect.ValueOf(request),
		func(path string, tag reflect.StructTag, field reflect.Value) error {
			link, ok := tag.Lookup("link")
			if !ok {
				return nil
			}
			return eachValue(field, func(value reflect.Value) error {
				scope := ""
				if tag.Get("named") != "" {
					scope = k.Scope()
				}
				r, err := s.ResolveLink(k, path, link, value.String(), scope)
				value.SetString(r.URL())
				return err
			})
		})
}

// ResolveLink finds a resource that exists, is not in another region, and may be used: link is a tag. With a scope, its
// name suffices.
func (s *State) ResolveLink(k *Call, field, link, text, scope string) (Ref, error) {
	collection, verb, _ := strings.Cut(link, ".")
	r, err := resolveURL(field, text, collection, k.Target)
	if scope != "" && !strings.Contains(text, "/") {
		r, err = Ref{k.Target.Project, scope, collection, text}, nil
	}
	if err != nil {
		return r, err
	}
	if region := k.Target.Region(); region != "" && r.Region() != "" && r.Region() != region {
		return r, Invalid(field, text, "The resource must be in region '%s'.", region)
	}
	if verb != "" {
		if err := k.Permit(serviceOf(r)+"."+verb, r); err != nil {
			return r, err
		}
	}
	_, err = Use[Entity](s, r)
	return r, err
}

// resolveURL parses a full or partial URL of a resource of a collection: with or without host and project. Within is
// the resource that refers to it: its project is the default one.
func resolveURL(field, url, collection string, within Ref) (Ref, error) {
	path := url
	if m := beforeProjects.FindStringSubmatch(url); m != nil {
		path = m[1]
	}
	r, ok := parsePath(path, within.Project)
	if !ok || r.Collection != collection {
		return Ref{}, Invalid(field, url, "The URL is malformed.")
	}
	return r, nil
}

// UserOf returns the first resource that refers to another one, or nil.
func (s *State) UserOf(r Ref) Entity {
	url := r.URL()
	var user Entity
	for _, byPath := range s.objects {
		for path, x := range byPath {
			if slices.Contains(references(x), url) && (user == nil || path < user.Ref().String()) {
				user = x
			}
		}
	}
	return user
}

// Dangling returns the references to resources that do not exist, as "resource refers to resource".
func (s *State) Dangling() []string {
	var out []string
	for _, collection := range s.Collections() {
		for _, x := range All[Entity](s, collection) {
			for _, url := range references(x) {
				if s.find(ParseURL(url)) == nil {
					out = append(out, x.Ref().String()+" refers to "+strings.TrimPrefix(url, Canonical))
				}
			}
		}
	}
	return out
}

// serviceOf returns the name in permissions for a resource: regionHealthChecks.
func serviceOf(r Ref) string {
	if r.Region() != "" && (r.Collection == "healthChecks" || r.Collection == "backendServices") {
		return "region" + strings.ToUpper(r.Collection[:1]) + r.Collection[1:]
	}
	return r.Collection
}

// references returns the canonical URLs of the resources that cannot be deleted while a resource exists.
func references(x Entity) []string {
	if !hasLinks(reflect.TypeOf(x)) {
		return nil
	}
	var out []string
	_ = eachField("", reflect.ValueOf(x), func(_ string, tag reflect.StructTag, field reflect.Value) error {
		if _, ok := tag.Lookup("link"); !ok || tag.Get("outlived") != "" {
			return nil
		}
		return eachValue(field, func(value reflect.Value) error {
			out = append(out, value.String())
			return nil
		})
	})
	return out
}

// typesWithLinks are whether types have links: most resources are instances and operations, which have none.
var typesWithLinks sync.Map

func hasLinks(t reflect.Type) bool {
	if known, ok := typesWithLinks.Load(t); ok {
		return known.(bool) //nolint:forcetypeassert // see below
	}
	found := false
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		found = hasLinks(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			_, isLink := t.Field(i).Tag.Lookup("link")
			found = found || isLink || t.Field(i).IsExported() && hasLinks(t.Field(i).Type)
		}
	}
	typesWithLinks.Store(t, found)
	return found
}
