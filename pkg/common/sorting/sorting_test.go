package sorting

import (
	"cmp"
	"slices"
	"testing"
)

type pair struct{ key, position int }

func byKey(a, b pair) int { return cmp.Compare(a.key, b.key) }

func TestStableFuncKeepsOrderOfEqualElements(t *testing.T) {
	list := []pair{{2, 0}, {1, 1}, {2, 2}, {1, 3}, {0, 4}}
	want := []pair{{0, 4}, {1, 1}, {1, 3}, {2, 0}, {2, 2}}
	if got := SortedFunc(slices.Values(list), byKey); !slices.Equal(got, want) {
		t.Errorf("SortedFunc: %v, want %v", got, want)
	}
	StableFunc(list, byKey)
	if !slices.Equal(list, want) {
		t.Errorf("StableFunc: %v, want %v", list, want)
	}
}

func TestFuncSorts(t *testing.T) {
	list := []pair{{3, 0}, {1, 0}, {2, 0}}
	Func(list, byKey)
	if want := []pair{{1, 0}, {2, 0}, {3, 0}}; !slices.Equal(list, want) {
		t.Errorf("got %v, want %v", list, want)
	}
}
