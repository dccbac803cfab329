package query

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

// Items is a list as EC2 writes it: its element exists even if the list is empty, which clients in other
// languages rely on.
type Items[T any] struct {
	Item []T `xml:"item"`
}

// Members is a list as Elastic Load Balancing and STS write it.
type Members[T any] struct {
	Member []T `xml:"member"`
}

// ItemsOf returns a list of values.
func ItemsOf[T any](values []T) Items[T] { return Items[T]{Item: values} }

// MembersOf returns a list of values.
func MembersOf[T any](values []T) Members[T] { return Members[T]{Member: values} }

const header = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// EC2Response returns the response document of an operation of EC2. The body is a struct, or nil for none.
func EC2Response(operation, namespace, requestID string, body any) ([]byte, error) {
	inner, err := contents(body)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf([]byte(header), "<%[1]sResponse xmlns=%[2]q><requestId>%[3]s</requestId>%[4]s</%[1]sResponse>",
		operation, namespace, requestID, inner), nil
}

// QueryResponse returns the response document of an operation of Elastic Load Balancing or STS.
func QueryResponse(operation, namespace, requestID string, body any) ([]byte, error) {
	inner, err := contents(body)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf([]byte(header), "<%[1]sResponse xmlns=%[2]q>\n<%[1]sResult>%[4]s</%[1]sResult>\n"+
		"<ResponseMetadata><RequestId>%[3]s</RequestId></ResponseMetadata>\n</%[1]sResponse>",
		operation, namespace, requestID, inner), nil
}

// EC2Error returns EC2's document for an error.
func EC2Error(code, message, requestID string) []byte {
	return fmt.Appendf([]byte(header), "<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors>"+
		"<RequestID>%s</RequestID></Response>", escape(code), escape(message), requestID)
}

// QueryError returns the other services' document for an error. fault is Sender or Receiver.
func QueryError(namespace, fault, code, message, requestID string) []byte {
	return fmt.Appendf([]byte(header), "<ErrorResponse "+
		"xmlns=%q>\n<Error><Type>%s</Type><Code>%s</Code><Message>%s</Message></Error>\n"+
		"<RequestId>%s</RequestId>\n</ErrorResponse>", namespace, fault, escape(code), escape(message), requestID)
}

// contents returns the XML of a body without its outer element.
func contents(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	var out bytes.Buffer
	e := xml.NewEncoder(&out)
	if err := e.EncodeElement(body, xml.StartElement{Name: xml.Name{Local: "b"}}); err != nil {
		return nil, fmt.Errorf("encoding the response: %w", err)
	}
	if err := e.Close(); err != nil {
		return nil, fmt.Errorf("encoding the response: %w", err)
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(out.Bytes(), []byte("<b>")), []byte("</b>")), nil
}

func escape(text string) string {
	var out bytes.Buffer
	// Writing to memory cannot fail.
	_ = xml.EscapeText(&out, []byte(text))
	return out.String()
}
