package nlb

import (
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type listenersOutput struct {
	Listeners  query.Members[listenerView] `xml:"Listeners"`
	NextMarker string                      `xml:"NextMarker,omitempty"`
}

type certificateView struct {
	ARN     string `xml:"CertificateArn"`
	Default *bool  `xml:"IsDefault"`
}

type weightView struct {
	Group  string `xml:"TargetGroupArn"`
	Weight *int32 `xml:"Weight"`
}

type forwardView struct {
	Groups     query.Members[weightView] `xml:"TargetGroups"`
	Stickiness struct {
		Enabled bool `xml:"Enabled"`
	} `xml:"TargetGroupStickinessConfig"`
}

type actionView struct {
	Type    string      `xml:"Type"`
	Group   string      `xml:"TargetGroupArn,omitempty"`
	Order   int32       `xml:"Order"`
	Forward forwardView `xml:"ForwardConfig"`
}

type listenerView struct {
	ARN          string                          `xml:"ListenerArn"`
	Balancer     string                          `xml:"LoadBalancerArn"`
	Port         int32                           `xml:"Port"`
	Protocol     string                          `xml:"Protocol"`
	Certificates *query.Members[certificateView] `xml:"Certificates"`
	Policy       string                          `xml:"SslPolicy,omitempty"`
	Actions      query.Members[actionView]       `xml:"DefaultActions"`
	ALPN         *query.Members[string]          `xml:"AlpnPolicy"`
}

func (t *Tx) viewListener(l *listener) listenerView {
	v := listenerView{ARN: l.arn, Balancer: l.balancer, Port: l.port, Protocol: l.protocol, Policy: l.policy}
	if len(l.certificates) > 0 {
		v.Certificates = &query.Members[certificateView]{Member: []certificateView{{ARN: l.certificates[0]}}}
	}
	if len(l.alpn) > 0 {
		alpn := query.MembersOf(l.alpn)
		v.ALPN = &alpn
	}
	for n, a := range l.actions {
		w := actionView{Type: a.Type, Order: int32(n + 1)}
		for _, g := range a.groups() {
			w.Forward.Groups.Member = append(w.Forward.Groups.Member, weightView{Group: g})
		}
		if len(a.groups()) == 1 {
			w.Group = a.groups()[0]
		} else if a.ForwardConfig != nil {
			for i, g := range a.ForwardConfig.TargetGroups {
				w.Forward.Groups.Member[i].Weight = g.Weight
			}
		}
		v.Actions.Member = append(v.Actions.Member, w)
	}
	return v
}
