package ccmapp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/yaml"

	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

// read collects the Services and Nodes to plan from files or the cluster.
func (p *planner) read(ctx context.Context, stdin io.Reader) (planInput, error) {
	var input planInput
	var err error
	switch o := p.options; {
	case len(o.files) > 0:
		input, err = p.readFiles(ctx, stdin)
	case o.all:
		input.services, err = p.listServices(ctx)
		input.routes = o.routes.Enabled()
	default:
		input.services, err = p.getServices(ctx)
	}
	if err != nil || len(input.nodes) > 0 {
		return input, err
	}
	if p.client == nil {
		printNote(p.err, "there are no nodes: add Nodes to the file, or give --%s to use the cluster's", flagKubeconfig)
		return input, nil
	}
	input.nodes, err = p.listNodes(ctx)
	return input, err
}

// readFiles reads Services and Nodes. A Service that already exists in the cluster keeps its UID and its
// ports.
func (p *planner) readFiles(ctx context.Context, stdin io.Reader) (planInput, error) {
	var input planInput
	var lines []string
	for _, file := range p.options.files {
		content, err := cli.ReadFile(file, stdin)
		if err != nil {
			return input, err
		}
		lines = append(lines, decodeManifests(file, content, &input)...)
	}
	if len(lines) > 0 {
		return input, &cli.ExitError{Code: cli.ExitUsage, Lines: lines}
	}
	if len(input.services) == 0 {
		return input, cli.UsageErrorf("-f %s: there is no Service in it%s", strings.Join(p.options.files, " -f "),
			besideServices(input.skipped))
	}
	if len(input.skipped) > 0 {
		printNote(p.err, "%s is skipped: only Services and Nodes are planned", strings.Join(input.skipped, ", "))
	}
	input.live = map[types.UID]*v1.Service{}
	for _, service := range input.services {
		if err := p.completeService(ctx, service, input.live); err != nil {
			return input, err
		}
	}
	p.selectServices(&input)
	return input, nil
}

// besideServices names what a file without Services has.
func besideServices(kinds []string) string {
	if len(kinds) == 0 {
		return ""
	}
	return ", only " + strings.Join(kinds, ", ")
}

// selectServices replaces the Services by what the manager sees of them. It removes those that neither have nor need a
// load balancer, and prints a note about each.
func (p *planner) selectServices(input *planInput) {
	var selected []*v1.Service
	for _, s := range input.services {
		if service := p.selected(s); loadbalancer.IsReconciled(service) {
			selected = append(selected, service)
			continue
		}
		printNote(p.err, "Service %s/%s is skipped: its type is %s%s", s.Namespace, s.Name, typeOf(s), p.describeClass(s))
	}
	input.services = selected
}

// decodeManifests adds the Services, Nodes and the kinds of all other objects of a file. It returns a line for each
// document that cannot be read.
func decodeManifests(file string, content []byte, input *planInput) (problems []string) {
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
		switch {
		case err == nil:
			err = addObject(input, object)
		case runtime.IsNotRegisteredError(err): // such as a custom resource
			err = skip(input, document)
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("-f %s: document %d: %s", file, n, cloudapi.OneLine(err)))
		}
	}
}

// skip adds the kind of a document that is no API of Kubernetes itself. A mistake in the apiVersion of a kind that is
// planned is an error.
func skip(input *planInput, document []byte) error {
	var object metav1.TypeMeta
	if err := yaml.Unmarshal(document, &object); err != nil {
		return err
	}
	if object.Kind == "Service" || object.Kind == "Node" {
		return fmt.Errorf("there is no %s in version %s; write apiVersion: v1", object.Kind, object.APIVersion)
	}
	input.skipped = append(input.skipped, object.Kind)
	return nil
}

func addObject(input *planInput, object runtime.Object) error {
	switch o := object.(type) {
	case *v1.Service:
		input.services = append(input.services, o)
	case *v1.Node:
		input.nodes = append(input.nodes, o)
	case *v1.List:
		return errors.New("a List is not supported; separate its items by --- lines")
	case *v1.ServiceList:
		for i := range o.Items {
			input.services = append(input.services, &o.Items[i])
		}
	case *v1.NodeList:
		for i := range o.Items {
			input.nodes = append(input.nodes, &o.Items[i])
		}
	default:
		input.skipped = append(input.skipped, object.GetObjectKind().GroupVersionKind().Kind)
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

// completeService sets the fields that the API server would set: the namespace and the protocols, and for an existing
// Service its UID (which its load balancer's name derives from) and its node ports. It adds the existing Service to
// live.
func (p *planner) completeService(ctx context.Context, s *v1.Service, live map[types.UID]*v1.Service) error {
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
		for _, livePort := range live.Spec.Ports {
			if port.NodePort == 0 && livePort.Port == port.Port && livePort.Protocol == port.Protocol {
				port.NodePort = livePort.NodePort
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
	var input planInput
	for _, id := range p.options.services {
		namespace, name, _ := strings.Cut(id, "/")
		s, err := p.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, cli.EnvironmentErrorf("--service=%s: the cluster has no such Service", id)
		}
		if err != nil {
			return nil, cli.EnvironmentErrorf("--service=%s: %s", id, cloudapi.OneLine(err))
		}
		input.services = append(input.services, s)
	}
	p.selectServices(&input)
	return input.services, nil
}

// listServices returns the Services that have or want a load balancer, as the manager sees them, sorted by name.
func (p *planner) listServices(ctx context.Context) ([]*v1.Service, error) {
	all, err := p.selectedServices(ctx)
	return slices.DeleteFunc(all, func(s *v1.Service) bool { return !loadbalancer.IsReconciled(s) }), err
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
	all, err := listPages[*v1.Service](ctx, p.client.CoreV1().Services(metav1.NamespaceAll).List)
	if err != nil {
		return nil, cli.EnvironmentErrorf("the cluster's Services cannot be listed: %s", cloudapi.OneLine(err))
	}
	return all, nil
}

func (p *planner) listNodes(ctx context.Context) ([]*v1.Node, error) {
	all, err := listPages[*v1.Node](ctx, p.client.CoreV1().Nodes().List)
	if err != nil {
		return nil, cli.EnvironmentErrorf("the cluster's nodes cannot be listed: %s", cloudapi.OneLine(err))
	}
	return all, nil
}

// listPages returns the items of all pages of a list.
func listPages[T any, L runtime.Object](ctx context.Context,
	list func(context.Context, metav1.ListOptions) (L, error)) ([]T, error) {
	var all []T
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) })
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		all = append(all, item.(T))
		return nil
	})
	return all, err
}

func typeOf(s *v1.Service) v1.ServiceType {
	if s.Spec.Type == "" {
		return v1.ServiceTypeClusterIP
	}
	return s.Spec.Type
}

// describeClass returns the part of a note about a skipped Service that is about its class.
func (p *planner) describeClass(s *v1.Service) string {
	switch {
	case s.Spec.LoadBalancerClass == nil && s.Spec.Type == v1.ServiceTypeLoadBalancer:
		return fmt.Sprintf(" and it has no loadBalancerClass, which --%s=%s leaves to another controller", flagClasses,
			p.options.classes)
	case s.Spec.LoadBalancerClass == nil:
		return ""
	}
	return " and its loadBalancerClass is " + strconv.Quote(*s.Spec.LoadBalancerClass)
}
