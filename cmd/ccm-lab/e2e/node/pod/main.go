// Command pod is what runs in the tests' pods besides ccm. Without arguments it is the container of a pod's sandbox.
// With "serve" it answers at port 8080: / with the names of its pod and node, /fetch with what another server answers
// to the token of the pod's account.
package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		log.Fatal(serve())
	}
	pause()
}

// pause waits for the end of the sandbox, and reaps processes whose parents have ended.
func pause() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for pid := 1; pid > 0; {
			pid, _ = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		}
	}
}

func serve() error {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		// One answer for each connection, so that the next one selects a pod again.
		w.Header().Set("Connection", "close")
		_, _ = fmt.Fprintf(w, "%s %s\n", os.Getenv("POD"), os.Getenv("NODE"))
	})
	mux.HandleFunc("/fetch", func(w http.ResponseWriter, r *http.Request) {
		if err := fetch(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})
	server := &http.Server{Addr: ":8080", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		<-signals
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// fetch gets the URL in the query with the account's token, without a check of the certificate: that of ccm's port is
// self-signed.
func fetch(w http.ResponseWriter, r *http.Request) error {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.URL.Query().Get("url"), http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	w.WriteHeader(response.StatusCode)
	_, err = io.Copy(w, response.Body)
	return errors.Join(err, response.Body.Close())
}
