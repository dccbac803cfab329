package e2e

import (
	"context"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestAccountsOfOtherManagers: ccm works with the account, the role and the flag of a manifest that was written for
// another manager, plus the permission to read the UID of the cluster. Tokens may be created for the accounts of the
// framework's controllers only, as in the manifest of kOps.
func TestAccountsOfOtherManagers(t *testing.T) {
	t.Parallel()
	for _, separate := range []string{"false", "true"} {
		t.Run("use-service-account-credentials="+separate, func(t *testing.T) {
			c := newCluster(t, setup{flags: []string{"--use-service-account-credentials=" + separate}})
			token := c.managerToken("other-manager-" + separate)
			c.live.Options.Kubeconfig = c.kubeconfig("account", func(r *rest.Config) { withToken(r, token) })
			c.must(c.session.JoinN(t.Context(), 2), c.session.Put(t.Context(), service("web", 80)))
			c.start()
			c.converge()
			c.must(c.session.Delete(t.Context(), "web"))
			c.converge()
		})
	}
}

// managerToken creates an account with the role of another manager, and returns its token.
func (c *cluster) managerToken(name string) string {
	c.t.Helper()
	ctx := c.t.Context()
	accounts := c.plane.Client.CoreV1().ServiceAccounts(metav1.NamespaceSystem)
	_, err := accounts.Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	c.must(err)
	core := func(resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: resources, Verbs: verbs}
	}
	tokens := core([]string{"serviceaccounts/token"}, "create")
	tokens.ResourceNames = []string{"node-controller", "service-controller", "route-controller"}
	uid := core([]string{"namespaces"}, "get")
	uid.ResourceNames = []string{metav1.NamespaceSystem}
	roles := c.plane.Client.RbacV1()
	_, err = roles.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{
			core([]string{"events"}, "create", "patch", "update"), core([]string{"nodes"}, "*"),
			core([]string{"nodes/status"}, "patch"),
			core([]string{"services", "services/status"}, "list", "patch", "update", "watch"),
			core([]string{"serviceaccounts"}, "create", "get", "list", "watch"), tokens, uid,
		},
	}, metav1.CreateOptions{})
	c.must(err)
	_, err = roles.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: name}},
	}, metav1.CreateOptions{})
	c.must(err)
	c.t.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		c.must(roles.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}),
			roles.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}), accounts.Delete(ctx, name, metav1.DeleteOptions{}))
	})
	request, err := accounts.CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	c.must(err)
	return request.Status.Token
}
