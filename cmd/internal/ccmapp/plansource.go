package ccmapp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

// pageSize bounds one response of the API server.
const pageSize = 500

// read collects the Services and Nodes to plan from files or the cluster.
func (p *planner) read(ctx context.Context, stdin io.Reader) (planInput, error) {
	var w planInput
	var err error
	switch o := p.options; {
	case len(o.files) > 0:
		w, err = p.readFiles(ctx, stdin)
	case o.all:
		w.services, err = p.listServices(ctx)
		w.routes = o.routes
	default:
		w.services, err = p.getServices(ctx)
	}
	if err != nil || len(w.nodes) > 0 {
		return w, err
	}
	if p.client == nil {
		note(p.err, "there are no nodes: add Nodes to the file, or give --%s to take the cluster's", flagKubeconfig)
		return w, nil
	}
	w.nodes, err = p.listNodes(ctx)
	return w, err
}

// readFiles reads Services and Nodes. A Service that already exists in the cluster keeps its UID and its
// ports.
func (p *planner) readFiles(ctx context.Context, stdin io.Reader) (planInput, error) {
	var w planInput
	var lines []string
	for _, file := range p.options.files {
		content, err := readFile(file, stdin)
		if err != nil {
			return w, cli.UsageErrorf("-f %s: %s", file, cause(err))
		}
		lines = append(lines, decodeManifests(file, content, &w)...)
	}
	if len(lines) > 0 {
		return w, &cli.ExitError{Code: cli.ExitUsage, Lines: lines}
	}
	if len(w.services) == 0 {
		return w, cli.UsageErrorf("-f %s: there is no Service in it", strings.Join(p.options.files, " -f "))
	}
	w.live = map[types.UID]*v1.Service{}
	for _, service := range w.services {
		if err := p.identify(ctx, service, w.live); err != nil {
			return w, err
		}
	}
	p.selectServices(&w)
	return w, nil
}

// selectServices replaces the Services by what the manager sees of them. It removes those that neither have nor need a
// load balancer, and prints a note about each.
func (p *planner) selectServices(w *planInput) {
	var selected []*v1.Service
	for _, s := range w.services {
		if seen := p.selected(s); loadbalancer.Reconciled(seen) {
			selected = append(selected, seen)
			continue
		}
		note(p.err, "Service %s/%s is skipped: its type is %s%s", s.Namespace, s.Name, typeOf(s), p.classOf(s))
	}
	w.services = selected
}

func readFile(file string, stdin io.Reader) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(file)
}

// decodeManifests adds the Services and Nodes of a file, and returns a line for each document of another
// kind.
func decodeManifests(file string, content []byte, w *planInput) (problems []string) {
	codec := serializer.NewCodecFactory(clientscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for n := 1; ; n++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return problems
		}
		if err != nil {
			return append(problems, fmt.Sprintf("-f %s: %s", file, cloudapi.OneLine(err)))
		}
		if onlyComments(document) {
			continue
		}
		object, _, err := codec.Decode(document, nil, nil)
		if err == nil {
			err = add(w, object)
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("-f %s: document %d: %s", file, n, cloudapi.OneLine(err)))
		}
	}
}

func add(w *planInput, object runtime.Object) error {
	switch o := object.(type) {
	case *v1.Service:
		w.services = append(w.services, o)
	case *v1.Node:
		w.nodes = append(w.nodes, o)
	case *v1.List:
		return errors.New("a List is not supported; separate its items by --- lines")
	case *v1.ServiceList:
		for i := range o.Items {
			w.services = append(w.services, &o.Items[i])
		}
	case *v1.NodeList:
		for i := range o.Items {
			w.nodes = append(w.nodes, &o.Items[i])
		}
	default:
		return fmt.Errorf("%s is skipped: only Services and Nodes are supported",
			object.GetObjectKind().GroupVersionKind().Kind)
	}
	return nil
}

func onlyComments(document []byte) bool {
	for line := range strings.Lines(string(document)) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// noUID stands for the UID of a Service that does not exist yet. No API server assigns it, so no existing
// object in the cloud matches it.
const noUID = "00000000-0000-0000-0000-000000000000"

// identify sets the fields that the API server would: the namespace and the protocols, and for an existing Service its
// UID (which its load balancer's name derives from) and its node ports. It adds the existing Service to live.
func (p *planner) identify(ctx context.Context, s *v1.Service, live map[types.UID]*v1.Service) error {
	if s.Namespace == "" {
		s.Namespace = metav1.NamespaceDefault
	}
	for i := range s.Spec.Ports {
		if s.Spec.Ports[i].Protocol == "" {
			s.Spec.Ports[i].Protocol = v1.ProtocolTCP
		}
	}
	if p.client == nil {
		if s.UID == "" {
			s.UID = noUID
		}
		return nil
	}
	existing, err := p.client.CoreV1().Services(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		s.UID = noUID
		return nil
	case err != nil:
		return cli.EnvironmentErrorf("Service %s/%s cannot be read from the cluster: %s", s.Namespace, s.Name,
			cloudapi.OneLine(err))
	}
	mergeExisting(s, existing)
	live[existing.UID] = existing
	return nil
}

// mergeExisting copies fields of the cluster's Service that the file does not set.
func mergeExisting(s, live *v1.Service) {
	s.UID, s.Finalizers, s.Status, s.DeletionTimestamp = live.UID, live.Finalizers, live.Status, live.DeletionTimestamp
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		for _, other := range live.Spec.Ports {
			if port.NodePort == 0 && other.Port == port.Port && other.Protocol == port.Protocol {
				port.NodePort = other.NodePort
			}
		}
	}
	if len(s.Spec.IPFamilies) == 0 {
		s.Spec.IPFamilies = live.Spec.IPFamilies
	}
	if len(s.Spec.ClusterIPs) == 0 {
		s.Spec.ClusterIP, s.Spec.ClusterIPs = live.Spec.ClusterIP, live.Spec.ClusterIPs
	}
	if s.Spec.HealthCheckNodePort == 0 && s.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
		s.Spec.HealthCheckNodePort = live.Spec.HealthCheckNodePort
	}
}

func (p *planner) getServices(ctx context.Context) ([]*v1.Service, error) {
	var w planInput
	for _, id := range p.options.services {
		namespace, name, _ := strings.Cut(id, "/")
		s, err := p.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, cli.EnvironmentErrorf("--service=%s: the cluster has no such Service", id)
		}
		if err != nil {
			return nil, cli.EnvironmentErrorf("--service=%s: %s", id, cloudapi.OneLine(err))
		}
		w.services = append(w.services, s)
	}
	p.selectServices(&w)
	return w.services, nil
}

// listServices returns the Services that have or want a load balancer, as the manager sees them, sorted by name.
func (p *planner) listServices(ctx context.Context) ([]*v1.Service, error) {
	all, err := p.selectedServices(ctx)
	return slices.DeleteFunc(all, func(s *v1.Service) bool { return !loadbalancer.Reconciled(s) }), err
}

// selectedServices returns all Services as the manager sees them.
func (p *planner) selectedServices(ctx context.Context) ([]*v1.Service, error) {
	all, err := p.listAllServices(ctx)
	for i, service := range all {
		all[i] = p.selected(service)
	}
	return all, err
}

// listAllServices returns the Services of all namespaces and types, sorted by name.
func (p *planner) listAllServices(ctx context.Context) ([]*v1.Service, error) {
	var all []*v1.Service
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := p.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return nil, cli.EnvironmentErrorf("the cluster's Services cannot be listed: %s", cloudapi.OneLine(err))
		}
		for i := range page.Items {
			all = append(all, &page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

func (p *planner) listNodes(ctx context.Context) ([]*v1.Node, error) {
	var all []*v1.Node
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := p.client.CoreV1().Nodes().List(ctx, options)
		if err != nil {
			return nil, cli.EnvironmentErrorf("the cluster's nodes cannot be listed: %s", cloudapi.OneLine(err))
		}
		for i := range page.Items {
			all = append(all, &page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

func typeOf(s *v1.Service) v1.ServiceType {
	if s.Spec.Type == "" {
		return v1.ServiceTypeClusterIP
	}
	return s.Spec.Type
}

// classOf returns why the class of a Service matters for a note about it.
func (p *planner) classOf(s *v1.Service) string {
	switch {
	case s.Spec.LoadBalancerClass == nil && s.Spec.Type == v1.ServiceTypeLoadBalancer:
		return fmt.Sprintf(" and it has no loadBalancerClass, which --%s=%s leaves to another controller", flagClasses,
			p.options.classes)
	case s.Spec.LoadBalancerClass == nil:
		return ""
	}
	return " and its loadBalancerClass is " + strconv.Quote(*s.Spec.LoadBalancerClass)
}
