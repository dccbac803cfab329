package client

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

// This package implements the SOAP protocol itself. govmomi's generated types register themselves in init functions, so
// that a program that imports its client links all of them, about 7.5 MB.

const (
	soapPath = "/sdk"
	// soapAction selects a version of the API that all supported releases of vCenter have.
	soapAction = `"urn:vim25/6.7"`
	// soapCookie is the cookie of a session.
	soapCookie = "vmware_soap_session"

	envelopeStart = `<?xml version="1.0" encoding="UTF-8"?>` +
		`<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/" ` +
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><Body>`
	envelopeEnd = `</Body></Envelope>`
)

// The faults that callers distinguish, by the names of the API reference.
const (
	faultNotAuthenticated = "NotAuthenticated"
	faultInvalidLogin     = "InvalidLogin"
	faultNotFound         = "ManagedObjectNotFound"
)

// element returns an XML element with escaped text. The attributes are literal.
func element(name, attributes, text string) string {
	var b strings.Builder
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(&b, "<%s%s>", name, attributes)
	_ = xml.EscapeText(&b, []byte(text)) // A strings.Builder never fails.
	fmt.Fprintf(&b, "</%s>", name)
	return b.String()
}

// refElement returns an element with the reference of an object.
func refElement(name string, ref api.Ref) string {
	return element(name, fmt.Sprintf("type=%q", ref.Type), ref.Value)
}

// operation returns the body of a request: a method of an object, with its encoded parameters.
func operation(method string, this api.Ref, parameters ...string) string {
	return fmt.Sprintf(`<%s xmlns="urn:vim25">%s%s</%s>`, method, refElement("_this", this),
		strings.Join(parameters, ""), method)
}

// envelope is a response. Its body has the response of the method, or a fault.
type envelope struct {
	Body struct {
		Fault   *fault `xml:"Fault"`
		Content []byte `xml:",innerxml"`
	} `xml:"Body"`
}

// fault is a SOAP fault. The detail has one element of the type of the fault.
type fault struct {
	Text   string `xml:"faultstring"`
	Detail struct {
		Faults []typedElement `xml:",any"`
	} `xml:"detail"`
}

// typedElement is an element with its type.
type typedElement struct {
	XMLName    xml.Name
	Attributes []xml.Attr `xml:",any,attr"`
}

// kind returns the type in the attribute xsi:type, or else the name of the element without its suffix.
func (e typedElement) kind() string {
	for _, a := range e.Attributes {
		if a.Name.Local == "type" && a.Name.Space != "" {
			_, name, found := strings.Cut(a.Value, ":")
			if !found {
				name = a.Value
			}
			return name
		}
	}
	return strings.TrimSuffix(e.XMLName.Local, "Fault")
}

// faultError is a fault as an error.
type faultError struct{ kind, text string }

// Error implements error.
func (e *faultError) Error() string {
	if e.text == "" {
		return e.kind
	}
	return e.kind + ": " + e.text
}

// faultKind returns the type of the fault in an error, "" without one.
func faultKind(err error) string {
	var f *faultError
	if errors.As(err, &f) {
		return f.kind
	}
	return ""
}

// newError returns the fault as an error.
func (f *fault) newError() error {
	converted := &faultError{text: strings.TrimSpace(f.Text)}
	if len(f.Detail.Faults) > 0 {
		converted.kind = f.Detail.Faults[0].kind()
	}
	return converted
}

// classOfFault classifies a fault. Anything that is not listed is Unknown, which proves nothing.
func classOfFault(kind string) cloudapi.Class {
	switch kind {
	case faultNotAuthenticated, faultInvalidLogin, "NoPermission", "InvalidLocale", "NoClientCertificate":
		return cloudapi.Denied
	case faultNotFound:
		return cloudapi.NotFound
	case "InvalidArgument", "InvalidProperty", "InvalidType", "InvalidRequest", "NotSupported", "MethodNotFound":
		return cloudapi.Invalid
	case "ServerBusy", "TooManySessions":
		return cloudapi.Throttled
	case "RequestCanceled", "Timedout", "HostCommunication", "HostNotConnected", "SystemError", "RuntimeFault":
		return cloudapi.Unavailable
	}
	return cloudapi.Unknown
}

// decodeSOAP decodes a response into the response of the method, or returns its fault.
func decodeSOAP(status int, content []byte, target any) error {
	var e envelope
	if err := xml.Unmarshal(content, &e); err != nil {
		if status != http.StatusOK {
			return &statusError{status: status}
		}
		return fmt.Errorf("the response cannot be parsed: %w", err)
	}
	switch {
	case e.Body.Fault != nil:
		return e.Body.Fault.newError()
	case status != http.StatusOK:
		return &statusError{status: status}
	}
	if err := xml.Unmarshal(bytes.TrimSpace(e.Body.Content), target); err != nil {
		return fmt.Errorf("the response cannot be parsed: %w", err)
	}
	return nil
}

// statusError is a response without a fault.
type statusError struct {
	status int
	code   string
	// credentials is set if the credentials are the reason, and not a missing permission.
	credentials bool
}

// Error implements error.
func (e *statusError) Error() string {
	text := fmt.Sprintf("HTTP status %d", e.status)
	if e.code != "" {
		text += " " + e.code
	}
	return text
}

// wrap returns a classified error of an operation; nil for nil.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	var classified *cloudapi.Error
	if errors.As(err, &classified) {
		return err
	}
	return &cloudapi.Error{Class: classOf(err), Operation: operation, Err: err}
}

func classOf(err error) cloudapi.Class {
	var f *faultError
	var s *statusError
	switch {
	case errors.As(err, &f):
		return classOfFault(f.kind)
	case errors.As(err, &s):
		if s.status == http.StatusNotFound {
			// Proxies return it too: only a fault reports that an object does not exist.
			return cloudapi.Unknown
		}
		return cloudapi.ClassOfStatus(s.status)
	case isTransportError(err):
		return cloudapi.Unavailable
	}
	return cloudapi.ClassOf(err)
}

// soapRef is a reference in a response.
type soapRef struct {
	Type  string `xml:"type,attr"`
	Value string `xml:",chardata"`
}

func (r soapRef) ref() api.Ref { return api.Ref{Type: r.Type, Value: strings.TrimSpace(r.Value)} }
