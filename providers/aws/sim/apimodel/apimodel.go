// Package apimodel checks requests against the service models of AWS' SDKs: required members, lengths, ranges,
// patterns and enumerations. model.json is generated from botocore's models, see reduce.py.
package apimodel

import (
	_ "embed" // model.json
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
)

//go:embed model.json
var document []byte

// Model is the model of one service: the shapes of its requests.
type Model struct {
	// Requests are the names of the requests' shapes by operation.
	Requests map[string]string
	Shapes   map[string]*Shape
}

// Shape describes one type of a model.
type Shape struct {
	Type string
	// Members are the names of the members' shapes by the name in a request; Required names some of these members.
	Members  map[string]string
	Required []string
	// Item is the shape of a list's items.
	Item string
	// Min and Max bound a number, the length of a string or the length of a list.
	Min, Max *int
	Pattern  *Pattern
	Enum     []string
}

// Pattern is a regular expression that a whole value must match.
type Pattern struct {
	Source string
	regexp *regexp.Regexp
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Pattern) UnmarshalText(text []byte) (err error) {
	p.Source = string(text)
	p.regexp, err = regexp.Compile(`^(?:` + p.Source + `)$`)
	return err
}

// Services returns the models by service.
var Services = sync.OnceValue(func() map[string]*Model {
	var all struct{ Services map[string]*Model }
	if err := json.Unmarshal(document, &all); err != nil {
		panic(fmt.Sprintf("apimodel: model.json: %v", err))
	}
	return all.Services
})
