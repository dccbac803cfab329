package lab

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
)

func TestSyncedServices(t *testing.T) {
	const text = `# TYPE workqueue_retries_total counter
workqueue_retries_total{name="node"} 100
workqueue_retries_total{name="service"} 3
# TYPE workqueue_work_duration_seconds histogram
workqueue_work_duration_seconds_bucket{name="service",le="+Inf"} 23
workqueue_work_duration_seconds_sum{name="service"} 1.5
workqueue_work_duration_seconds_count{name="service"} 23
workqueue_work_duration_seconds_bucket{name="node",le="+Inf"} 7
workqueue_work_duration_seconds_sum{name="node"} 1
workqueue_work_duration_seconds_count{name="node"} 7
`
	for name, tt := range map[string]struct {
		status  int
		text    string
		want    int
		wantErr bool
	}{
		"syncs without those that are retried": {status: http.StatusOK, text: text, want: 20},
		"no sync yet":                          {status: http.StatusOK},
		"metrics are forbidden":                {status: http.StatusForbidden, text: text, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/metrics" {
					t.Errorf("request of %s, want /metrics", r.URL.Path)
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.text))
			}))
			defer server.Close()
			_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
			c := &Cluster{}
			c.port, _ = strconv.Atoi(port)
			got, err := c.SyncedServices(t.Context())
			if got != tt.want || (err != nil) != tt.wantErr {
				t.Errorf("SyncedServices = %d, %v, want %d, error %t", got, err, tt.want, tt.wantErr)
			}
		})
	}
}
