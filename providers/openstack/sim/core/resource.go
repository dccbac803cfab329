package core

// transaction is an operation on a part of the state.
type transaction interface{ Base() *Tx }

// Base returns the part of an operation that all services share.
func (t *Tx) Base() *Tx { return t }

// Resource is a kind of object with two reads: a list, and one object by its ID.
type Resource[X transaction, T Entity] struct {
	// Name is the singular in names of operations, such as FloatingIP; Key that of JSON, such as floatingip.
	Name, Key string
	// Path is the path of the list; paths of single objects end in their ID.
	Path string
	// List returns the objects that the caller may see, in the order in which the service lists them.
	List func(X) ([]T, error)
	// Get returns the object that the call names.
	Get func(X) (T, error)
	// Filters are the filters of the list other than those by field.
	Filters map[string]Filter[T]
	// Refresh, if set, updates the fields of an object that show related objects.
	Refresh func(X, T)
}

// Operations returns the reads, followed by further operations on the resource.
func (r Resource[X, T]) Operations(further ...Operation[X]) []Operation[X] {
	list := func(t X) (any, error) {
		objects, err := r.List(t)
		if err != nil {
			return nil, err
		}
		r.RefreshAll(t, objects...)
		return Listing[T]{Plural: r.Key + "s", filters: r.Filters}.Response(t.Base(), objects)
	}
	show := func(t X) (any, error) {
		x, err := r.Get(t)
		if err != nil {
			return nil, err
		}
		r.RefreshAll(t, x)
		return show(t.Base(), r.Key, x), nil
	}
	return append([]Operation[X]{Read("List"+r.Name+"s", r.Path, list), Read("Show"+r.Name, r.Path+"/{id}", show)},
		further...)
}

// RefreshAll updates the fields of objects that show related objects.
func (r Resource[X, T]) RefreshAll(t X, objects ...T) {
	if r.Refresh != nil {
		for _, x := range objects {
			r.Refresh(t, x)
		}
	}
}
