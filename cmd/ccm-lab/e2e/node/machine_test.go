package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// gateway is the address of the network of the tests on each machine's link.
const gateway = "169.254.1.1"

// machine is a node's machine: a network namespace and a host name, a container runtime, a kubelet and a kube-proxy.
type machine struct {
	name, address string
	dir           string
	processes     []*process
}

// startMachine makes the machine's network and starts its daemons. The kubelet registers the node; without a
// configuration of its pod network it is not ready.
func startMachine(ctx context.Context, p *plane, name, address string) (*machine, error) {
	m := &machine{name: name, address: address, dir: filepath.Join(p.dir, name)}
	for _, dir := range []string{m.dir, m.file("cni"), m.file("pods"), "/run/e2e/" + name} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	steps := []func() error{
		func() error { return m.makeNetwork(ctx) },
		m.makeCgroups,
		func() error { return m.writeFiles(p) },
		func() error { return m.startDaemon("containerd", "containerd", "--config="+m.file("containerd.toml")) },
		func() error { return m.importImages(ctx) },
		func() error {
			return m.startDaemon("kubelet", program("kubelet"), "--config="+m.file("kubelet.yaml"),
				"--kubeconfig="+m.file("kubeconfig"), "--root-dir="+m.file("kubelet"), "--cert-dir="+m.file("certificates"),
				"--hostname-override="+name, "--node-ip="+address, "--cloud-provider=external", "--v=2")
		},
		func() error {
			return m.startDaemon("kube-proxy", program("kube-proxy"), "--kubeconfig="+m.file("proxy.kubeconfig"),
				"--hostname-override="+name, "--proxy-mode=nftables", "--cluster-cidr="+podRange, "--conntrack-max-per-core=0",
				"--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0")
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return m, fmt.Errorf("machine %s: %w", name, err)
		}
	}
	return m, nil
}

func (m *machine) file(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) socket() string { return "/run/e2e/" + m.name + "/containerd.sock" }

// link is the name of the machine's link in the network of the tests.
func (m *machine) link() string { return "to-" + m.name }

func (m *machine) namespace() string { return "/run/netns/" + m.name }

func (m *machine) makeNetwork(ctx context.Context) error {
	inside := []string{"ip", "-n", m.name}
	for _, command := range [][]string{
		{"ip", "netns", "add", m.name},
		{"ip", "link", "add", m.link(), "type", "veth", "peer", "name", "eth0", "netns", m.name},
		{"ip", "addr", "add", gateway + "/32", "dev", m.link()},
		{"ip", "link", "set", m.link(), "up"},
		{"ip", "route", "add", m.address + "/32", "dev", m.link(), "src", planeAddress},
		append(inside, "addr", "add", m.address+"/32", "dev", "eth0"),
		append(inside, "link", "set", "lo", "up"),
		append(inside, "link", "set", "eth0", "up"),
		append(inside, "route", "add", gateway+"/32", "dev", "eth0"),
		append(inside, "route", "add", "default", "via", gateway, "src", m.address),
		{"nsenter", "--net=" + m.namespace(), "sysctl", "-qw", "net.ipv4.ip_forward=1"},
	} {
		if _, err := run(ctx, command...); err != nil {
			return err
		}
	}
	return nil
}

// startPodNetwork connects the machine's pods, with the range that the node got.
func (m *machine) startPodNetwork(ctx context.Context, podCIDR string) error {
	if _, err := run(ctx, "ip", "route", "replace", podCIDR, "via", m.address, "dev", m.link(), "onlink",
		"src", planeAddress); err != nil {
		return err
	}
	config := fmt.Sprintf(`{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0",
"isGateway": true, "hairpinMode": true, "ipam": {"type": "host-local", "dataDir": %q, "ranges": [[{"subnet": %q}]],
"routes": [{"dst": "0.0.0.0/0"}]}}]}`, m.file("addresses"), podCIDR)
	// The runtime reads the file when it is written, and not when it is renamed.
	return os.WriteFile(m.file("cni/10-pods.conflist"), []byte(config), 0o644)
}

// cgroup returns the cgroup of the machine.
func (m *machine) cgroup() string { return "/" + os.Getenv(cgroupVariable) + "/" + m.name }

// makeCgroups makes the cgroup of the machine's pods in each hierarchy, and one of its daemons.
func (m *machine) makeCgroups() error {
	roots, err := cgroupRoots()
	for _, root := range roots {
		err = errors.Join(err, os.MkdirAll(root+m.cgroup()+"/daemons", 0o755))
		enableControllers(root, filepath.Join(root, os.Getenv(cgroupVariable)), root+m.cgroup())
		// A new cpuset of the first version is empty.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			content, readErr := os.ReadFile(filepath.Join(root, file))
			if readErr != nil {
				continue
			}
			parent := filepath.Join(root, os.Getenv(cgroupVariable))
			for _, dir := range []string{parent, root + m.cgroup(), root + m.cgroup() + "/daemons"} {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, file), content, 0o644))
			}
		}
	}
	return err
}

// enableControllers lets the children of cgroups of the second version have what a kubelet requires. The kubelet names
// those that are missing.
func enableControllers(dirs ...string) {
	for _, dir := range dirs {
		for _, controller := range []string{"cpu", "cpuset", "io", "memory", "pids", "hugetlb"} {
			path := filepath.Join(dir, "cgroup.subtree_control")
			if file, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil { // The first version has no such file.
				_, _ = file.WriteString("+" + controller)
				_ = file.Close()
			}
		}
	}
}

// cgroupRoots returns the mount points of the hierarchies: one of the second version, or those of the first one.
func cgroupRoots() ([]string, error) {
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return []string{root}, nil
	}
	return filepath.Glob(root + "/*")
}

// trackingRoot returns the hierarchy in which the processes of a machine are found.
func trackingRoot() string {
	if _, err := os.Stat("/sys/fs/cgroup/pids"); err == nil {
		return "/sys/fs/cgroup/pids"
	}
	return "/sys/fs/cgroup"
}

const containerdConfig = `version = 2
root = "%[1]s"
state = "/run/e2e/%[2]s/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "%[3]s"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "%[4]s"
  # Virtual machines and containers of some CI services have no CAP_SYS_RESOURCE.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "%[5]s"
`

// kubeletConfig never evicts and never collects images: the disk is shared with other programs.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: "%[1]s"}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
cgroupRoot: %[2]s
failCgroupV1: false
failSwapOn: false
containerRuntimeEndpoint: unix://%[3]s
enforceNodeAllocatable: []
evictionHard: {memory.available: 1Mi, nodefs.available: 1Mi, imagefs.available: 1Mi, nodefs.inodesFree: "1"}
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 2s
nodeLeaseDurationSeconds: 8
podLogsDir: "%[4]s"
resolvConf: "%[5]s"
`

func (m *machine) writeFiles(p *plane) error {
	if err := errors.Join(p.writeKubeconfig(m.file("kubeconfig"), m.name),
		p.writeKubeconfig(m.file("proxy.kubeconfig"), "proxy")); err != nil {
		return err
	}
	for name, content := range map[string]string{
		"containerd.toml": fmt.Sprintf(containerdConfig, m.file("containerd"), m.name, m.socket(), podImage, m.file("cni")),
		"kubelet.yaml": fmt.Sprintf(kubeletConfig, p.file("cert.pem"), m.cgroup(), m.socket(), m.file("pods"),
			m.file("resolv.conf")),
		"resolv.conf": "nameserver " + planeAddress + "\n",
	} {
		if err := os.WriteFile(m.file(name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// startDaemon starts a daemon in the machine's network and cgroup, under its host name.
func (m *machine) startDaemon(name string, args ...string) error {
	join := fmt.Sprintf(`hostname %s && echo $$ >%s%s/daemons/cgroup.procs && exec "$@"`, m.name, trackingRoot(), m.cgroup())
	daemon, err := startProcess(m.dir, name, append([]string{"nsenter", "--net=" + m.namespace(), "unshare", "--uts",
		"sh", "-c", join, "sh"}, args...)...)
	if err == nil {
		m.processes = append(m.processes, daemon)
	}
	return err
}

// importImages waits for the runtime, and loads the images that no registry has.
func (m *machine) importImages(ctx context.Context) error {
	for _, name := range []string{"pod", version, nextVersion} {
		if err := await(ctx, testTimeout, func(ctx context.Context) error {
			_, err := run(ctx, "ctr", "--address="+m.socket(), "--namespace=k8s.io", "images", "import", image(name))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// pids returns the processes of the machine: daemons, and all that run in pods.
func (m *machine) pids() []int {
	var out []int
	_ = filepath.WalkDir(trackingRoot()+m.cgroup(), func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return filepath.SkipDir // It was removed meanwhile.
		}
		if !entry.IsDir() {
			return nil
		}
		content, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(content)) {
			if pid, err := strconv.Atoi(field); err == nil {
				out = append(out, pid)
			}
		}
		return nil
	})
	return out
}

// stop powers the machine off: all its processes are killed, and its network is removed.
func (m *machine) stop(ctx context.Context) error {
	err := await(ctx, testTimeout, func(context.Context) error {
		pids := m.pids()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(pids) > 0 {
			return fmt.Errorf("machine %s still has %d processes", m.name, len(pids))
		}
		return nil
	})
	for _, daemon := range m.processes {
		daemon.kill()
	}
	m.processes = nil
	mounts, readErr := os.ReadFile("/proc/self/mounts")
	lines := strings.Split(string(mounts), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if fields := strings.Fields(lines[i]); len(fields) > 1 && (strings.HasPrefix(fields[1], m.dir+"/") ||
			strings.HasPrefix(fields[1], "/run/e2e/"+m.name+"/")) {
			err = errors.Join(err, syscall.Unmount(fields[1], syscall.MNT_DETACH))
		}
	}
	_, linkErr := run(ctx, "ip", "link", "del", m.link())
	_, netErr := run(ctx, "ip", "netns", "del", m.name)
	return errors.Join(err, readErr, linkErr, netErr)
}
