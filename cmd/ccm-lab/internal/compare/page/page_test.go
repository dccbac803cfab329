package page

import (
	"bytes"
	"os"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/sample"
)

// PAGE_OUT is where hack/test-page.sh wants the page of the sample.
func TestSamplePage(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, sample.Troubled()); err != nil {
		t.Fatal(err)
	}
	if out := os.Getenv("PAGE_OUT"); out != "" {
		if err := os.WriteFile(out, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
