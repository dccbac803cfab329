package lab

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"
)

func TestTracesWritesOTLP(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "traces.jsonl")
	traces, err := StartTraces(file, dir)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(strings.TrimPrefix(traces.Arg(), "--tracing-config-file="))
	if err != nil {
		t.Fatal(err)
	}
	var config struct{ Endpoint string }
	if err := yaml.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	body, err := proto.Marshal(&tracepb.ExportTraceServiceRequest{ResourceSpans: []*spanpb.ResourceSpans{{
		ScopeSpans: []*spanpb.ScopeSpans{{Spans: []*spanpb.Span{{
			Name: "sync", TraceId: bytes.Repeat([]byte{0xab}, 16), SpanId: bytes.Repeat([]byte{1}, 8),
			Kind: spanpb.Span_SPAN_KIND_CLIENT,
		}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]int{string(body): http.StatusOK, "garbage": http.StatusBadRequest} {
		response, err := http.Post("http://"+config.Endpoint+"/v1/traces", "application/x-protobuf", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("status %d, want %d", response.StatusCode, want)
		}
	}
	if spans, err := traces.Close(); spans != 1 || err != nil {
		t.Errorf("%d spans, error %v", spans, err)
	}
	got, err := os.ReadFile(file)
	want := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"kind":3,"name":"sync","spanId":"0101010101010101",` +
		`"traceId":"abababababababababababababababab"}]}]}]}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("%s, error %v, want %s", got, err, want)
	}
}
