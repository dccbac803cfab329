package plan

import (
	"fmt"
	"sync"
)

// Handle names an object that may not exist yet. Apply resolves it when the creation returns.
type Handle string

// Handles maps handles to the IDs of objects that were created while a plan was applied. It is
// safe for concurrent use.
type Handles struct {
	mu  sync.Mutex
	ids map[Handle]string
}

// Set stores the ID of the object that h identifies.
func (h *Handles) Set(handle Handle, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ids == nil {
		h.ids = map[Handle]string{}
	}
	h.ids[handle] = id
}

// Has reports whether an ID is stored under a handle.
func (h *Handles) Has(handle Handle) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.ids[handle]
	return ok
}

// ID returns the ID stored under a handle; an error means that a change ran before the creation it depends
// on.
func (h *Handles) ID(handle Handle) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, ok := h.ids[handle]
	if !ok {
		return "", fmt.Errorf("plan: %q has not been created yet: a change lacks a dependency", handle)
	}
	return id, nil
}
