package awserr

import (
	"errors"
	"fmt"
	"strings"
)

// unreadShown is the number of objects that the message of an UnreadError names.
const unreadShown = 3

// UnreadError is the error of a read beside its result: the result has all other objects that exist. Whether these
// exist is not known. The class is that of Err.
type UnreadError struct {
	// IDs are sorted; Err is the error of the first.
	IDs []string
	Err error
}

// Error implements error.
func (e *UnreadError) Error() string {
	shown := strings.Join(e.IDs[:min(len(e.IDs), unreadShown)], ", ")
	if hidden := len(e.IDs) - unreadShown; hidden > 0 {
		shown += fmt.Sprintf(" and %d more", hidden)
	}
	return fmt.Sprintf("%s cannot be read: %v", shown, e.Err)
}

// Unwrap returns the error of the first object.
func (e *UnreadError) Unwrap() error { return e.Err }

// SplitUnread returns the errors of the objects of an UnreadError by ID, or err if it is another one: then there is no
// result beside it.
func SplitUnread(err error) (unread map[string]error, other error) {
	var e *UnreadError
	if !errors.As(err, &e) {
		return nil, err
	}
	unread = make(map[string]error, len(e.IDs))
	for _, id := range e.IDs {
		unread[id] = e.Err
	}
	return unread, nil
}
