package steps

import "github.com/unified-ccm/unified-ccm/pkg/common/plan"

// Reference is an object that a change needs: an existing one, with its ID, or one that the plan creates.
type Reference struct {
	ID, Name string
	Handle   plan.Handle
}

// Resolve returns the ID, which is known after the object's creation.
func (r Reference) Resolve(ids *plan.Handles) (string, error) {
	if r.ID != "" {
		return r.ID, nil
	}
	return ids.ID(r.Handle)
}

// ResolveBoth returns the IDs of two objects.
func ResolveBoth(ids *plan.Handles, a, b Reference) (idA, idB string, err error) {
	if idA, err = a.Resolve(ids); err != nil {
		return "", "", err
	}
	idB, err = b.Resolve(ids)
	return idA, idB, err
}

// Show returns the ID, or the name if there is none yet.
func (r Reference) Show() string {
	if r.ID != "" {
		return r.ID
	}
	return r.Name
}
