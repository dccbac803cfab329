package core

import (
	"encoding/xml"
	"net/url"
	"reflect"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// Description has the objects of a kind for a Describe operation, and the view of each in its response. The view's tags
// name its filters.
type Description[T, V any] struct {
	Kind IDKind
	All  map[string]T
	View func(T) V
	Rule PageRule
}

// Select returns the visible objects that match the IDs, if any are given, and all filters; sorted by ID.
func (d Description[T, V]) Select(t *Tx, ids []string, s Selection) (found []T, foundIDs []string, err error) {
	if err := s.Check(); err != nil {
		return nil, nil, err
	}
	selected, err := SelectIDs(t, d.Kind, d.All, ids)
	if err != nil {
		return nil, nil, err
	}
	tags, fields := splitFilters(s.Filter)
	if err := CheckFilters[V](fields); err != nil {
		return nil, nil, err
	}
	for _, id := range selected {
		if matchesTags(t.Tags[id], tags) && (len(fields) == 0 || MatchesFilters(d.View(d.All[id]), fields)) {
			found, foundIDs = append(found, d.All[id]), append(foundIDs, id)
		}
	}
	return found, foundIDs, nil
}

// Page returns one page of the objects that match the IDs and filters of a request.
func (d Description[T, V]) Page(t *Tx, ids []string, s Selection) (out query.Items[V], next string, err error) {
	found, foundIDs, err := d.Select(t, ids, s)
	if err != nil {
		return out, "", err
	}
	found, next, err = Page(found, foundIDs, s, d.Rule)
	for _, x := range found {
		out.Item = append(out.Item, d.View(x))
	}
	return out, next, err
}

// describeInput is the request of a Describe operation.
type describeInput struct {
	Selection
	IDs []string
}

// describeOutput is its response. set is the name of the list.
type describeOutput[V any] struct {
	set   string
	items query.Items[V]
	next  string
}

// MarshalXML implements xml.Marshaler.
func (o describeOutput[V]) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	if err := e.EncodeElement(o.items, element(o.set)); err != nil {
		return err
	}
	if o.next != "" {
		if err := e.EncodeElement(o.next, element("nextToken")); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

func element(name string) xml.StartElement { return xml.StartElement{Name: xml.Name{Local: name}} }

// Describe builds the Describe operation of a kind. It accepts and ignores the parameters in ignored.
func Describe[X interface{ Base() *Tx }, T, V any](
	name string, describe func(X) Description[T, V], ignored ...string,
) Operation[X] {
	do := func(x X, service string, form url.Values) (any, error) {
		d := describe(x)
		values := url.Values{}
		for parameter, texts := range form {
			if rest, ok := strings.CutPrefix(parameter, d.Kind.Parameter+"."); ok {
				parameter = "IDs." + rest
			}
			values[parameter] = texts
		}
		for _, parameter := range ignored {
			values.Del(parameter)
		}
		in, dry, err := decode[describeInput](service, values)
		if err == nil && dry {
			err = errDryRun()
		}
		if err != nil {
			return nil, err
		}
		items, next, err := d.Page(x.Base(), in.IDs, in.Selection)
		return describeOutput[V]{d.Kind.Set, items, next}, err
	}
	return Operation[X]{Name: name, Request: reflect.TypeFor[Selection](), Do: do}
}

// Base returns the part of an operation that all services share.
func (t *Tx) Base() *Tx { return t }
