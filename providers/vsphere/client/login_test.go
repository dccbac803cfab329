package client

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

// echoingCenter is a vCenter that rejects each login, with the whole request in the text of its fault.
type echoingCenter struct{}

func (echoingCenter) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, content := http.StatusOK, `<RetrieveServiceContentResponse xmlns="urn:vim25"><returnval>`+
		`<rootFolder type="Folder">group-d1</rootFolder><propertyCollector type="PropertyCollector">pc</propertyCollector>`+
		`<searchIndex type="SearchIndex">si</searchIndex><sessionManager type="SessionManager">sm</sessionManager>`+
		`</returnval></RetrieveServiceContentResponse>`
	if !strings.Contains(string(body), "RetrieveServiceContent") {
		var text strings.Builder
		if err := xml.EscapeText(&text, fmt.Appendf(nil, "rejected: %v %s", r.Header, body)); err != nil {
			return nil, err
		}
		status, content = http.StatusInternalServerError, `<Fault><faultcode>ServerFaultCode</faultcode><faultstring>`+
			text.String()+`</faultstring><detail><InvalidLoginFault xmlns="urn:vim25"/></detail></Fault>`
	}
	content = `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>` + content + `</Body></Envelope>`
	return &http.Response{StatusCode: status, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(content))}, nil
}

func TestRejectedLoginKeepsPassword(t *testing.T) {
	t.Parallel()
	// The form of the second in XML differs from it.
	for _, password := range []string{"Pl4nted/Secret+Value", `Pl4nted<&"Secret'>Value`} {
		c := New(Options{Transport: echoingCenter{}, VCenter: config.VCenter{Name: "vc.test", Server: "vc.test",
			Credentials: config.Credentials{User: "user", Password: common.Secret(password)}}})
		err := c.Check(t.Context())
		if err == nil {
			t.Fatal("the login was not rejected")
		}
		if text := err.Error(); !strings.Contains(text, "REDACTED") || strings.Contains(text, "Pl4nted") {
			t.Errorf("with the password %s: %s", password, text)
		}
	}
}
