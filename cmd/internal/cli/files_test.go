package cli

import (
	"errors"
	"testing"
	"testing/iotest"
)

func TestReadFileReportsErrorOfStandardInput(t *testing.T) {
	_, err := ReadFile("-", iotest.ErrReader(errors.New("connection reset")))
	if want := "-f -: connection reset"; err == nil || err.Error() != want {
		t.Errorf("ReadFile returns %v, want %s", err, want)
	}
}
