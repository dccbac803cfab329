package sim

import (
	"errors"
	"net/http"
	"testing"
)

func TestLostReplyDoesTheOperation(t *testing.T) {
	done := 0
	f := NewFront(FrontOptions{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { done++ })})
	f.SetFaults(Fault{Kind: FaultLostReply, Call: 2})
	c := &http.Client{Transport: f.Transport()}
	for i, want := range []bool{true, false, true} {
		resp, err := c.Post("http://cloud/v1/things", "", nil)
		if (err == nil) != want {
			t.Fatalf("call %d: %v %v", i+1, resp, err)
		}
		if err != nil && !errors.Is(err, ErrBroken) {
			t.Error(err)
		}
	}
	if done != 3 || f.Injected() != 1 || f.Log().Len() != 3 {
		t.Error(done, f.Injected(), f.Log().Calls())
	}
}
