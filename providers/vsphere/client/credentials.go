package client

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	common "github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

// CredentialSource returns the current credentials of a vCenter. It is called at each login.
type CredentialSource func(ctx context.Context) ([]config.Credentials, error)

// Secrets reads Secrets of the cluster. It is safe for concurrent use.
type Secrets struct {
	mu     sync.Mutex
	client kubernetes.Interface
}

// SetClient sets the client. Without one, Secrets cannot be read.
func (s *Secrets) SetClient(client kubernetes.Interface) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = client
}

// read returns the keys of a Secret. It is read at each login: a session lasts for days, and a watch would need
// permission to list Secrets.
func (s *Secrets) read(ctx context.Context, ref config.SecretRef) (map[string]string, error) {
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	if client == nil {
		return nil, fmt.Errorf("secret %s/%s: the manager is not connected to the cluster yet", ref.Namespace, ref.Name)
	}
	secret, err := client.CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	out := make(map[string]string, len(secret.Data))
	for key, value := range secret.Data {
		out[key] = string(value)
	}
	return out, nil
}

// NewCredentials returns the source of the credentials of a vCenter: first those of the file, then those of its
// Secret or directory. All are read at each login, so that a change needs no restart.
func NewCredentials(v config.VCenter, file string, secrets *Secrets) CredentialSource {
	return func(ctx context.Context) ([]config.Credentials, error) {
		var list []config.Credentials
		if inline := inlineCredentials(v, file); !inline.Empty() {
			list = append(list, inline)
		}
		keys, err := storedKeys(ctx, v, secrets)
		if err == nil && keys != nil {
			var stored config.Credentials
			if stored, err = ParseCredentials(keys, v.Server); err == nil {
				list = append(list, stored)
			}
		}
		if len(list) > 0 {
			return list, nil
		}
		return nil, err
	}
}

// inlineCredentials returns the credentials in the current file. An invalid file changes nothing.
func inlineCredentials(v config.VCenter, file string) config.Credentials {
	if file == "" {
		return v.Credentials
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return v.Credentials
	}
	cfg, _, err := config.Read(file, content)
	if err != nil {
		klog.Background().Error(err, "Config reload failed; keeping previous credentials", "file", file)
		return v.Credentials
	}
	for _, vcenter := range cfg.VCenters {
		if vcenter.Name == v.Name {
			return vcenter.Credentials
		}
	}
	return v.Credentials
}

// storedKeys returns the keys of the vCenter's Secret, or the files of the directory; nil without either.
func storedKeys(ctx context.Context, v config.VCenter, secrets *Secrets) (map[string]string, error) {
	switch {
	case v.Secret.Name != "":
		return secrets.read(ctx, v.Secret)
	case v.SecretsDirectory != "":
		return readDirectory(v.SecretsDirectory)
	}
	return nil, nil
}

func readDirectory(name string) (map[string]string, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, entry := range entries {
		// A mounted Secret has a folder and links whose names start with two dots.
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(name, entry.Name()))
		if err != nil {
			return nil, err
		}
		out[entry.Name()] = string(content)
	}
	return out, nil
}

// ParseCredentials returns the credentials of a server from keys of the form <server>.username, or for addresses with
// colons server_<x>, username_<x> and password_<x>. Keys of other servers are ignored.
func ParseCredentials(keys map[string]string, server string) (config.Credentials, error) {
	get := func(suffix string) string { return strings.TrimSuffix(keys[server+suffix], "\n") }
	c := config.Credentials{
		User: get(".username"), Password: common.Secret(get(".password")),
		SessionManagerURL:   get(".vc-session-manager-url"),
		SessionManagerToken: common.Secret(get(".vc-session-manager-token")),
	}
	for key, value := range keys {
		if id, ok := strings.CutPrefix(key, "server_"); ok && strings.TrimSpace(value) == server {
			c.User, c.Password = keys["username_"+id], common.Secret(keys["password_"+id])
		}
	}
	if c.SessionManagerURL != "" {
		return c, nil
	}
	if c.User == "" || c.Password == "" {
		return c, fmt.Errorf("there is no %s.username and %s.password", server, server)
	}
	return c, nil
}
