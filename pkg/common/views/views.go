// Package views filters the shared informers of Nodes and Services for controllers that work on some of the objects.
package views

import (
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// view is what the views of all kinds share. Show returns an object as the view has it, and false for one that it does
// not have. It may depend on more than the object: Refresh passes such a change on.
type view[T metav1.Object] struct {
	informer cache.SharedIndexInformer
	show     func(T) (T, bool)

	mu       sync.Mutex
	handlers []*handler[T]
}

// Refresh compares an object with what the handlers got last. They get an addition or a deletion if the object
// is in the view now, or is not any more.
func (v *view[T]) Refresh(object T) {
	key := keyOf(object)
	v.mu.Lock()
	handlers := v.handlers
	v.mu.Unlock()
	for _, h := range handlers {
		h.refresh(key)
	}
}

// Repeat passes an object that is in the view on as an addition again: what depends on more than the object has
// changed.
func (v *view[T]) Repeat(object T) {
	v.mu.Lock()
	handlers := v.handlers
	v.mu.Unlock()
	for _, h := range handlers {
		h.repeat(keyOf(object))
	}
}

// filteredInformer is a shared informer with the view between the informer and its handlers.
type filteredInformer[T metav1.Object] struct {
	cache.SharedIndexInformer
	view *view[T]
}

// AddEventHandler implements cache.SharedIndexInformer.
func (i filteredInformer[T]) AddEventHandler(
	h cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	return registered(i.SharedIndexInformer.AddEventHandler(i.view.handler(h)))
}

// AddEventHandlerWithResyncPeriod implements cache.SharedIndexInformer.
func (i filteredInformer[T]) AddEventHandlerWithResyncPeriod(
	h cache.ResourceEventHandler, resync time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return registered(i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(i.view.handler(h), resync))
}

// AddEventHandlerWithOptions implements cache.SharedIndexInformer.
func (i filteredInformer[T]) AddEventHandlerWithOptions(
	h cache.ResourceEventHandler, o cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return registered(i.SharedIndexInformer.AddEventHandlerWithOptions(i.view.handler(h), o))
}

func registered(
	registration cache.ResourceEventHandlerRegistration, err error,
) (cache.ResourceEventHandlerRegistration, error) {
	if err != nil {
		return nil, fmt.Errorf("watching: %w", err)
	}
	return registration, nil
}

func (v *view[T]) handler(inner cache.ResourceEventHandler) *handler[T] {
	h := &handler[T]{view: v, inner: inner, shown: map[string]T{}}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.handlers = append(v.handlers, h)
	return h
}

// handler passes on the events of the objects in a view. An object that comes into the view is added, one that leaves
// it is deleted.
type handler[T metav1.Object] struct {
	view  *view[T]
	inner cache.ResourceEventHandler

	mu sync.Mutex
	// shown has each object as the inner handler got it last, by key.
	shown map[string]T
}

// OnAdd implements cache.ResourceEventHandler.
func (h *handler[T]) OnAdd(object any, isInInitialList bool) { h.see(object, isInInitialList) }

// OnUpdate implements cache.ResourceEventHandler.
func (h *handler[T]) OnUpdate(_, object any) { h.see(object, false) }

// OnDelete implements cache.ResourceEventHandler.
func (h *handler[T]) OnDelete(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	current, ok := object.(T)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hide(keyOf(current))
}

func (h *handler[T]) see(object any, isInInitialList bool) {
	current, ok := object.(T)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell(current, isInInitialList, false)
}

// tell passes on what changes by the current object; with onlyMembership only whether it is in the view.
func (h *handler[T]) tell(current T, isInInitialList, onlyMembership bool) {
	key := keyOf(current)
	before, was := h.shown[key]
	seen, is := h.view.show(current)
	switch {
	case !is:
		h.hide(key)
	case !was:
		h.shown[key] = seen
		h.inner.OnAdd(seen, isInInitialList)
	case !onlyMembership:
		h.shown[key] = seen
		h.inner.OnUpdate(before, seen)
	}
}

func (h *handler[T]) hide(key string) {
	if before, was := h.shown[key]; was {
		delete(h.shown, key)
		h.inner.OnDelete(before)
	}
}

// refresh reads the object under the lock: an event that the informer sends after it waits for the lock.
func (h *handler[T]) refresh(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	object, exists, err := h.view.informer.GetStore().GetByKey(key)
	if err != nil {
		klog.Background().Error(err, "Failed to read an object of an informer", "object", key)
		return
	}
	if current, ok := object.(T); exists && ok {
		h.tell(current, false, true)
	}
}

func (h *handler[T]) repeat(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if object, shown := h.shown[key]; shown {
		h.inner.OnAdd(object, false)
	}
}

func keyOf(object metav1.Object) string {
	return cache.MetaObjectToName(object).String()
}
