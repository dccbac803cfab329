package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
)

// EchoServers answer in place of the pods behind Services, which a cluster without kubelets does not have: at
// each node's internal address and each Service's node port, where kube-proxy would listen. They listen on
// loopback addresses only, and are safe for concurrent use.
type EchoServers struct {
	mu       sync.Mutex
	closed   bool
	open     map[echoServer]io.Closer
	problems []string
}

// echoServer is one port of one node.
type echoServer struct {
	node, service string
	protocol      v1.Protocol
	address       netip.AddrPort
}

// NewEchoServers returns an empty set of echo servers. The caller must close them.
func NewEchoServers() *EchoServers { return &EchoServers{open: map[echoServer]io.Closer{}} }

// Sync listens for exactly these nodes and Services.
func (s *EchoServers) Sync(ctx context.Context, nodes []v1.Node, services []v1.Service) {
	want := echoServersOf(nodes, services)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for have, closer := range s.open {
		if !slices.Contains(want, have) {
			_ = closer.Close()
			delete(s.open, have)
		}
	}
	s.problems = nil
	for _, w := range want {
		if _, ok := s.open[w]; ok {
			continue
		}
		closer, err := w.listen(ctx)
		if err != nil {
			problem := fmt.Sprintf("the echo server for %s on %s cannot listen: %s", w.service, w.node, err)
			s.problems = append(s.problems, problem)
			continue
		}
		s.open[w] = closer
	}
}

// Problems returns the echo servers that could not listen, with the reason.
func (s *EchoServers) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Close stops all servers.
func (s *EchoServers) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for have, closer := range s.open {
		errs = append(errs, closer.Close())
		delete(s.open, have)
	}
	return errors.Join(errs...)
}

func echoServersOf(nodes []v1.Node, services []v1.Service) []echoServer {
	var out []echoServer
	for _, node := range nodes {
		addr, err := netip.ParseAddr(internalIP(node))
		if err != nil || !addr.IsLoopback() {
			continue
		}
		for _, svc := range services {
			for _, port := range svc.Spec.Ports {
				if port.NodePort == 0 || port.Protocol == v1.ProtocolSCTP {
					continue
				}
				out = append(out, echoServer{
					node: node.Name, service: svc.Name, protocol: port.Protocol,
					address: netip.AddrPortFrom(addr, uint16(port.NodePort)),
				})
			}
		}
	}
	return out
}

func internalIP(node v1.Node) string {
	for _, address := range node.Status.Addresses {
		if address.Type == v1.NodeInternalIP {
			return address.Address
		}
	}
	return ""
}

// greeting is the answer of an echo server; answeredBy parses it.
func (s echoServer) greeting() string {
	return "hello from " + s.node + " through service " + s.service
}

func answeredBy(greeting string) (node string, ok bool) {
	sender, ok := strings.CutPrefix(greeting, "hello from ")
	node, _, found := strings.Cut(sender, " ")
	return node, ok && found
}

func (s echoServer) listen(ctx context.Context) (io.Closer, error) {
	var config net.ListenConfig
	if s.protocol == v1.ProtocolUDP {
		conn, err := config.ListenPacket(ctx, "udp", s.address.String())
		if err != nil {
			return nil, err
		}
		go s.echo(conn)
		return conn, nil
	}
	listener, err := config.Listen(ctx, "tcp", s.address.String())
	if err != nil {
		return nil, err
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			// One answer for each connection, so that the load balancer selects a member again for the next.
			w.Header().Set("Connection", "close")
			fmt.Fprintln(w, s.greeting())
		}),
	}
	go func() { _ = server.Serve(listener) }() // It always returns an error when it is closed.
	return server, nil
}

// maxDatagram is the largest payload of a UDP datagram.
const maxDatagram = 65507

// echo answers each datagram with the greeting and its content, until the socket is closed.
func (s echoServer) echo(conn net.PacketConn) {
	buffer := make([]byte, maxDatagram)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // such as the ICMP answer to an earlier reply
		}
		answer := s.greeting() + ": " + string(buffer[:n])
		_, _ = conn.WriteTo([]byte(answer[:min(len(answer), maxDatagram)]), from) // UDP may lose it anyway.
	}
}

// noAnswer is the result of a probe without an answer from an echo server.
const noAnswer = "no answer"

// probe sends a request to a load balancer and returns the name of the node that answered, or noAnswer.
func probe(ctx context.Context, protocol v1.Protocol, address string, port int32) string {
	target := net.JoinHostPort(address, strconv.Itoa(int(port)))
	send := probeHTTP
	if protocol == v1.ProtocolUDP {
		send = probeUDP
	}
	answer, err := send(ctx, target)
	if node, ok := answeredBy(answer); err == nil && ok {
		return node
	}
	return noAnswer
}

func probeHTTP(ctx context.Context, target string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+target, nil)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{DisableKeepAlives: true} // Ignores proxies of the environment.
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDatagram))
	return string(body), errors.Join(err, response.Body.Close())
}

func probeUDP(ctx context.Context, target string) (answer string, err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "udp", target)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	if _, err := conn.Write([]byte("who is there?")); err != nil {
		return "", err
	}
	buffer := make([]byte, maxDatagram)
	n, err := conn.Read(buffer)
	return string(buffer[:n]), err
}
