package refusal

import (
	"errors"
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func newMemory() (*Memory[int], *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return NewMemory[int](clock), clock
}

// size counts the places that a memory knows.
func (m *Memory[T]) size() int {
	n := 0
	for _, places := range m.places {
		n += len(places)
	}
	return n
}

// TestMemoryIsBounded adds refusals of load balancers and ports that are never heard of again.
func TestMemoryIsBounded(t *testing.T) {
	m, clock := newMemory()
	for i := range 1000 {
		name := fmt.Sprint("balancer ", i)
		m.Remove(name, "443", i)
		_ = m.Add(name, map[string]string{"80": "x"}, errors.New("refused"))
		clock.Step(time.Hour)
	}
	if got, most := m.size(), 2*int(forgetAge/time.Hour+1); got > most {
		t.Errorf("%d places, want at most %d", got, most)
	}
}

// TestServicesAreApart verifies that neither an edit nor a refusal of one Service changes what is known of another.
func TestServicesAreApart(t *testing.T) {
	m, _ := newMemory()
	refused := errors.New("refused")
	for _, name := range []string{"a", "b"} {
		m.Remove(name, "80", 1)
		_ = m.Add(name, map[string]string{"80": "x"}, refused)
	}
	m.Keep("a", map[string]string{"80": "y"})
	m.Made("a", "80")
	m.Forget("a")
	if m.Of("a", "80", "x") != nil || len(m.Removed("a", "80")) > 0 {
		t.Error("the first one is known")
	}
	if !errors.Is(m.Of("b", "80", "x"), refused) || len(m.Removed("b", "80")) != 1 {
		t.Error("the second one is not known")
	}
}

// TestKeep edits a Service whose listeners AWS refused.
func TestKeep(t *testing.T) {
	for _, tt := range []struct {
		name             string
		want             map[string]string
		refused, removed bool
	}{
		{"another port", map[string]string{"80": "x", "443": "y"}, true, true},
		{"another listener at the port", map[string]string{"80": "z"}, false, true},
		{"the port is removed", map[string]string{"443": "y"}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := newMemory()
			m.Remove("a", "80", 1)
			_ = m.Add("a", map[string]string{"80": "x"}, errors.New("refused"))
			m.Keep("a", tt.want)
			m.Keep("a", map[string]string{"80": "x"})
			if got := m.Of("a", "80", "x") != nil; got != tt.refused {
				t.Errorf("the refusal is known: %t, want %t", got, tt.refused)
			}
			if got := len(m.Removed("a", "80")) == 1; got != tt.removed {
				t.Errorf("what was removed is known: %t, want %t", got, tt.removed)
			}
		})
	}
}
