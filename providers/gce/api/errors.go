package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Error is an error of Compute Engine: of a call, or of its operation. It is the cause of a cloudapi.Error.
type Error struct {
	Status int
	// Reasons are the codes of the error. Operations write them in upper case.
	Reasons []string
	Message string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (%d %s)", e.Message, e.Status, strings.Join(e.Reasons, ", "))
}

// reasonInUse is the code of the deletion of an object that others refer to.
const reasonInUse = "resourceinusebyanotherresource"

// classes are the classes of codes. Codes of operations have underscores and upper case.
var classes = map[string]cloudapi.Class{
	"notfound": cloudapi.NotFound, "resourcenotfound": cloudapi.NotFound, "membernotfound": cloudapi.NotFound,
	"alreadyexists": cloudapi.AlreadyExists, "resourcealreadyexists": cloudapi.AlreadyExists,
	"memberalreadyexists": cloudapi.AlreadyExists,
	reasonInUse:           cloudapi.Conflict, "resourcenotready": cloudapi.Conflict, "conditionnotmet": cloudapi.Conflict,
	"resourceinuse":     cloudapi.Conflict,
	"ratelimitexceeded": cloudapi.Throttled, "userratelimitexceeded": cloudapi.Throttled,
	"concurrentoperationsquotaexceeded": cloudapi.Throttled,
	"quotaexceeded":                     cloudapi.Quota, "limitexceeded": cloudapi.Quota,
	"forbidden": cloudapi.Denied, "permissionserror": cloudapi.Denied, "insufficientpermissions": cloudapi.Denied,
	"accessnotconfigured": cloudapi.Denied, "autherror": cloudapi.Denied, "required": cloudapi.Invalid,
	"invalid": cloudapi.Invalid, "badrequest": cloudapi.Invalid, "invalidfieldvalue": cloudapi.Invalid,
	"backenderror": cloudapi.Unavailable, "internalerror": cloudapi.Unavailable, "servererror": cloudapi.Unavailable,
}

// Class returns the class of an error. The status decides only if no code does: of a 403, only the code separates a
// missing permission from a quota or a rate limit, and a 404 without a code is an answer of something else.
func (e *Error) Class() cloudapi.Class {
	for _, reason := range e.Reasons {
		if class := classes[normalize(reason)]; class != "" {
			return class
		}
	}
	class := cloudapi.ClassOfStatus(e.Status)
	if class == "" || class == cloudapi.NotFound {
		return cloudapi.Unknown
	}
	return class
}

func normalize(reason string) string { return strings.ToLower(strings.ReplaceAll(reason, "_", "")) }

// InUse reports whether an error is that of the deletion of an object that others refer to.
func InUse(err error) bool {
	var e *Error
	return errors.As(err, &e) &&
		slices.ContainsFunc(e.Reasons, func(r string) bool { return normalize(r) == reasonInUse })
}

// PartialError is the error of a list of several zones or regions of which some did not answer. The items of the others
// are returned with it.
type PartialError struct {
	Call   *Call
	Places []string
}

// Error implements error.
func (e *PartialError) Error() string {
	return fmt.Sprintf("%s: %s did not answer", e.Call, strings.Join(e.Places, ", "))
}

// Add adds the zone or region of a URL.
func (e *PartialError) Add(place string) {
	if name := Last(place); !slices.Contains(e.Places, name) {
		e.Places = append(e.Places, name)
	}
}

// OrNil returns the error, with a class, if a place did not answer.
func (e *PartialError) OrNil() error {
	if len(e.Places) == 0 {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: e.Call.String(), Err: e}
}

// Unreachable returns the zones and regions that did not answer, and nil for the error of a list that others answered.
func Unreachable(err error) ([]string, error) {
	var partial *PartialError
	if errors.As(err, &partial) {
		return partial.Places, nil
	}
	return nil, err
}

// ErrorOf returns the error of an operation that has ended; nil if it ended well.
func (o Operation) ErrorOf(call string) error {
	if o.Error == nil && o.HTTPStatus == 0 {
		return nil
	}
	e := &Error{Status: o.HTTPStatus, Message: o.HTTPMessage}
	if o.Error != nil {
		var messages []string
		for _, problem := range o.Error.Errors {
			e.Reasons, messages = append(e.Reasons, problem.Code), append(messages, problem.Message)
		}
		e.Message = strings.Join(messages, "; ")
	}
	return &cloudapi.Error{Class: e.Class(), Operation: call, Err: e}
}
