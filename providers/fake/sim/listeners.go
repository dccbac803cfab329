package sim

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

func listenerIndex(lb *loadBalancer, name string) int {
	return slices.IndexFunc(lb.Listeners, func(l api.Listener) bool { return l.Name == name })
}

// listener returns a listener for a change.
func (t *tx) listener(id, name string) (*loadBalancer, int, error) {
	lb, err := t.activeLoadBalancer(id)
	if err != nil {
		return nil, 0, err
	}
	i := listenerIndex(lb, name)
	if i < 0 {
		return nil, 0, notFound("listener", name)
	}
	return lb, i, nil
}

func (t *tx) createListener(id string, l api.Listener) (api.Listener, error) {
	lb, err := t.activeLoadBalancer(id)
	if err != nil {
		return api.Listener{}, err
	}
	if err := validName("listener", l.Name); err != nil {
		return api.Listener{}, err
	}
	for _, have := range lb.Listeners {
		if have.Name == l.Name {
			return api.Listener{}, refuse(api.CodeAlreadyExists, "listener %q exists in load balancer %s", l.Name, id)
		}
		if have.Protocol == l.Protocol && have.Port == l.Port {
			return api.Listener{}, refuse(api.CodeAlreadyExists, "listener %q has %s port %d already", have.Name, l.Protocol,
				l.Port)
		}
	}
	if err := validListener(lb, l); err != nil {
		return api.Listener{}, err
	}
	lb.Listeners = append(lb.Listeners, l)
	t.markChanged()
	return renderListener(l), nil
}

func (t *tx) updateListener(id, name string, patch api.ListenerPatch) (api.Listener, error) {
	lb, i, err := t.listener(id, name)
	if err != nil {
		return api.Listener{}, err
	}
	l := lb.Listeners[i]
	if patch.Pool != nil {
		l.Pool = *patch.Pool
	}
	if patch.SourceRanges != nil {
		l.SourceRanges = *patch.SourceRanges
	}
	if patch.IdleTimeoutSeconds != nil {
		l.IdleTimeoutSeconds = *patch.IdleTimeoutSeconds
	}
	if err := validListener(lb, l); err != nil {
		return api.Listener{}, err
	}
	lb.Listeners[i] = l
	t.markChanged()
	return renderListener(l), nil
}

func (t *tx) deleteListener(id, name string) error {
	lb, i, err := t.listener(id, name)
	if err != nil {
		return err
	}
	lb.Listeners = slices.Delete(lb.Listeners, i, i+1)
	t.markChanged()
	return nil
}
