package cli

import (
	"errors"
	"io"
	"os"
)

// ReadFile reads the file of a flag -f; - is standard input.
func ReadFile(file string, stdin io.Reader) (content []byte, err error) {
	if file == "-" {
		content, err = io.ReadAll(stdin)
	} else {
		content, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, UsageErrorf("-f %s: %s", file, Cause(err))
	}
	return content, nil
}

// Cause returns the innermost message of a file or network error, without its path or URL, which the caller adds.
func Cause(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
