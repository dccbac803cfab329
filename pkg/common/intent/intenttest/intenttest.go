// Package intenttest has what every provider's tests ask of the way in which Services are told about their annotations.
package intenttest

import (
	"fmt"
	"strings"
	"testing"
)

// Refused fails the test unless err, why a Service is refused, says of each of its annotations what is wrong
// with it; harmless are keys whose values nothing can be wrong with. It returns the Event, as the framework's
// service controller words it.
func Refused(t testing.TB, err error, annotations map[string]string, harmless map[string]bool) (event string) {
	t.Helper()
	if err == nil {
		t.Error("bad values are accepted")
		return ""
	}
	for key := range annotations {
		if !harmless[key] && !strings.Contains(err.Error(), key+" is ") && !strings.Contains(err.Error(), key+": ") {
			t.Errorf("nothing is said about %s", key)
		}
	}
	return fmt.Sprintf("Warning SyncLoadBalancerFailed Error syncing load balancer: failed to ensure load balancer: %v", err)
}

// Misspelt fails the test unless slips in each of the keys are told with the key that was meant. events are
// those that a Service gets whose only annotation is a slip.
func Misspelt(t testing.TB, keys []string, events func(slip string) []string) {
	t.Helper()
	for _, key := range keys {
		for name, slip := range map[string]string{
			"last letter missing": key[:len(key)-1],
			"a letter twice":      key[:len(key)-3] + key[len(key)-3:len(key)-2] + key[len(key)-3:],
		} {
			told, want := strings.Join(events(slip), "\n"), "did you mean "+key+"?"
			if !strings.Contains(told, slip+": ") || !strings.Contains(told, want) {
				t.Errorf("%s, %s: no event says %q: %s", slip, name, want, told)
			}
		}
	}
}
