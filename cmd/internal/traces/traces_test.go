package traces

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

const header = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tracing.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReadNamesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"other kind":    {"apiVersion: v1\nkind: Service\n", "Service"},
		"unknown field": {header + "endpint: localhost:4318\n", "endpint"},
		"rate":          {header + "samplingRatePerMillion: 2000000\n", "samplingRatePerMillion"},
		"socket":        {header + "endpoint: unix:///run/collector.sock\n", "host:port"},
		"plain URL":     {header + "endpoint: http://collector:4318\n", "unsupported scheme"},
		"path":          {header + "endpoint: https://collector:4318/v1/traces\n", "https://host:port for TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(write(t, c.content)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := Read(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a file that does not exist is no error")
	}
}

func TestStartExportsSpans(t *testing.T) {
	for name, tls := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) { testExport(t, tls) })
	}
}

func testExport(t *testing.T, tls bool) {
	t.Helper()
	var mu sync.Mutex
	var received []string
	collector := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		received = append(received, r.URL.Path+" "+string(body))
	}))
	if tls {
		collector.StartTLS()
		authority := write(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: collector.Certificate().Raw})))
		t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", authority)
	} else {
		collector.Start()
	}
	defer collector.Close()
	config, err := Read(write(t, header+"endpoint: "+strings.TrimPrefix(collector.URL, "http://")+
		"\nsamplingRatePerMillion: 1000000\n"))
	if err != nil {
		t.Fatal(err)
	}
	stop, err := Start(t.Context(), config, "v1")
	if err != nil {
		t.Fatal(err)
	}
	_, span := tracing.Start(t.Context(), "LoadBalancer.EnsureLoadBalancer", tracing.Service.String("web"))
	tracing.End(span, nil)
	stop()
	mu.Lock()
	defer mu.Unlock()
	if len(received) != 1 {
		t.Fatalf("%d exports, want 1", len(received))
	}
	for _, want := range []string{"/v1/traces ", "LoadBalancer.EnsureLoadBalancer", "k8s.service.name", "web", "ccm"} {
		if !strings.Contains(received[0], want) {
			t.Errorf("no %q in %q", want, received[0])
		}
	}
}
