package nlb

import (
	"cmp"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type certificatesInput struct {
	elb.Page
	listenerRef
	Certificates []certificate
}

type certificatesOutput struct {
	Certificates query.Members[certificateView] `xml:"Certificates"`
	NextMarker   string                         `xml:"NextMarker,omitempty"`
}

// describeCertificates lists the default certificate too, marked as such.
func (t *Tx) describeCertificates(l *listener, in certificatesInput) (out certificatesOutput, err error) {
	var views []certificateView
	for n, arn := range l.certificates {
		isDefault := n == 0 // The default certificate may be an additional one too.
		views = append(views, certificateView{arn, &isDefault})
	}
	slices.SortStableFunc(views, func(a, b certificateView) int { return cmp.Compare(a.ARN, b.ARN) })
	out.Certificates, out.NextMarker, err = elb.Cut(views, in.Page, func(v certificateView) string { return v.ARN },
		func(v certificateView) certificateView { return v })
	return out, err
}

// addCertificates adds to those for server name indication. Existing ones stay.
func (t *Tx) addCertificates(l *listener, in certificatesInput) (out certificatesOutput, err error) {
	if l.protocol != "TLS" {
		return out, core.Refuse("UnsupportedProtocol", "Certificates cannot be added to %s listeners", l.protocol)
	}
	after := slices.Clone(l.certificates)
	for _, c := range in.Certificates {
		if err := t.CheckCertificate(c.CertificateArn); err != nil {
			return out, err
		}
		if !slices.Contains(after, c.CertificateArn) {
			after = append(after, c.CertificateArn)
		}
	}
	// The quota does not count the default certificate.
	if len(after)-1 > t.Options.Quotas[core.QuotaCertificates] {
		return out, core.Refuse("TooManyCertificates",
			"The maximum number of certificates for listener '%s' has been reached",
			l.arn)
	}
	l.certificates = after
	for _, c := range in.Certificates {
		no := false
		out.Certificates.Member = append(out.Certificates.Member, certificateView{c.CertificateArn, &no})
	}
	return out, nil
}

func (t *Tx) removeCertificates(l *listener, in certificatesInput) (core.Nothing, error) {
	for _, c := range in.Certificates {
		if len(l.certificates) > 0 && l.certificates[0] == c.CertificateArn {
			return core.Nothing{}, core.Refuse("OperationNotPermitted", "The default certificate cannot be removed")
		}
	}
	for _, c := range in.Certificates {
		l.certificates = slices.DeleteFunc(l.certificates, func(arn string) bool { return arn == c.CertificateArn })
	}
	return core.Nothing{}, nil
}
