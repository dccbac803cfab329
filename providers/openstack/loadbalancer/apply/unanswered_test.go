package apply

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

func TestMayTakeEffect(t *testing.T) {
	answer := func(status int) error { return gophercloud.ErrUnexpectedResponseCode{Actual: status} }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"an answer in time":        {nil, false},
		"no answer in time":        {context.DeadlineExceeded, true},
		"a connection that broke":  {&net.OpError{Op: "read", Err: errors.New("reset")}, true},
		"no connection":            {&net.OpError{Op: "dial", Err: errors.New("refused")}, false},
		"a proxy that gave up":     {answer(http.StatusGatewayTimeout), true},
		"a proxy without a server": {answer(http.StatusBadGateway), true},
		"a refusal":                {answer(http.StatusBadRequest), false},
		"an error of Octavia's":    {answer(http.StatusInternalServerError), false},
		"a service that is busy":   {answer(http.StatusServiceUnavailable), false},
		"an error of ours":         {&cloudapi.Error{Class: cloudapi.Invalid, Err: errors.New("no")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.err
			if err != nil {
				err = oserr.Wrap("load-balancer", "CreateLoadBalancer", time.Now(), err)
			}
			if got := mayTakeEffect(err); got != c.want {
				t.Errorf("%v: %t, want %t", err, got, c.want)
			}
		})
	}
}
