package ccmapp

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/cmd/internal/auditcmd"
	"github.com/unified-ccm/unified-ccm/cmd/internal/cli"
	"github.com/unified-ccm/unified-ccm/cmd/internal/controllers"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/orphans"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
)

// auditCommand is the name of the command. The exit codes are those of ccm plan.
const auditCommand = "audit"

// auditOptions are the flags of ccm audit.
type auditOptions struct {
	planOptions
	deleteOrphans, yes bool
	minAge             time.Duration
}

func newAuditCommand() *cobra.Command {
	o := auditOptions{minAge: loadbalancer.DefaultTimeout,
		planOptions: planOptions{
			clusterName: "kubernetes", routes: controllers.AllRoutes(), output: outputText, color: colorAuto, all: true,
		}}
	cmd := &cobra.Command{
		Use:   auditCommand + " --cloud-provider=NAME [--delete-orphans]",
		Short: "List what the cloud has of each cluster, and delete orphans",
		Long: `List everything in the cloud that carries the mark of a cluster, beside what
this cluster needs: load balancers and their parts, addresses, security groups
and their rules, and routes. Each object is in one state: orphaned, drifted,
unknown, held, unidentified, foreign, or in sync.

--delete-orphans shows a plan, asks for a confirmation, and deletes only what
carries this cluster's mark and is unused. It reads each object again before it
deletes it, and reports a reason for each orphan that stays. It can be
interrupted at any time and run again.

Exit codes: 0 when nothing is orphaned or drifted, 2 when something is, 1 when
something could not be listed, compared or deleted.`,
		Example: `  # What is there, and what does nothing need?
  ccm audit --cloud-provider=fake --cloud-config=cloud.conf --kubeconfig=$HOME/.kube/config

  # Delete the orphans, after a confirmation
  ccm audit --cloud-provider=fake --cloud-config=cloud.conf --kubeconfig=$HOME/.kube/config --delete-orphans`,
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return runAudit(cmd, o) },
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.deleteOrphans, "delete-orphans", false, "Delete the orphans that are provably unused.")
	fs.BoolVar(&o.yes, "yes", false, "Delete without a confirmation.")
	fs.DurationVar(&o.minAge, "min-age", o.minAge, "Keep orphans that are younger, by the cloud's creation date: "+
		"a manager may still be creating them.")
	o.addClusterFlags(cmd)
	return cmd
}

func runAudit(cmd *cobra.Command, o auditOptions) error {
	if err := o.checkAudit(); err != nil {
		return err
	}
	planners, err := newPlanners(cmd.Context(), o.planOptions, cmd.ErrOrStderr(), o.deleteOrphans)
	if err != nil {
		return err
	}
	var outcomes []error
	for _, p := range planners {
		if err := printCloud(cmd.OutOrStdout(), o.planOptions, p, len(planners)); err != nil {
			return err
		}
		outcomes = append(outcomes, auditCloud(cmd, o, p))
	}
	return joinOutcomes(outcomes)
}

// auditCloud audits one cloud.
func auditCloud(cmd *cobra.Command, o auditOptions, p *planner) error {
	options := auditcmd.Options{
		Provider: p.cloud.ProviderName(), Title: p.source.Title,
		JSON: o.output == outputJSON, Color: o.colored(cmd.OutOrStdout()), Verbose: o.verbose,
		Width:         terminalWidth(cmd.OutOrStdout()),
		DeleteOrphans: o.deleteOrphans, Yes: o.yes,
	}
	result, err := auditcmd.Run(cmd.Context(), p.auditSession(o.minAge), options,
		auditcmd.Streams{In: cmd.InOrStdin(), Out: cmd.OutOrStdout()})
	switch {
	case err != nil:
		return err
	case len(result.Failures) > 0:
		return &cli.ExitError{Code: cli.ExitEnvironment, Lines: result.Failures}
	case result.Attention:
		return errChanges
	default:
		return nil
	}
}

func (o auditOptions) checkAudit() error {
	switch {
	case o.yes && !o.deleteOrphans:
		return cli.UsageErrorf("--yes has no effect without --delete-orphans")
	case o.deleteOrphans && !o.yes && o.output == outputJSON:
		return cli.UsageErrorf("--delete-orphans needs --yes with --output=json: " +
			"a confirmation would be printed within the JSON")
	case o.minAge < 0:
		return cli.UsageErrorf("--min-age=%s: must not be negative; use 0 to delete orphans of any age", o.minAge)
	}
	return o.checkCluster()
}

// auditSession returns the access of the audit to the cluster and the cloud: that of plans.
func (p *planner) auditSession(minAge time.Duration) orphans.Session {
	s := orphans.Session{
		Cloud: p.cloud, Client: p.client, ClusterName: p.options.clusterName, ClusterUID: p.clusterUID,
		Services: p.selectedServices, Nodes: p.listNodes, MinAge: minAge, Now: time.Now, Parts: true,
		Plan: func(ctx context.Context, services []*v1.Service, nodes []*v1.Node) ([]plan.Plan, []error) {
			balancers, _ := p.cloud.LoadBalancer()
			lbPlanner, ok := balancers.(loadbalancer.Planner)
			if !ok {
				return make([]plan.Plan, len(services)), make([]error, len(services))
			}
			return p.planServices(ctx, lbPlanner, planInput{services: services, nodes: nodes})
		},
	}
	ranges, err := p.options.clusterCIDRs()
	impl, ok := p.cloud.Routes()
	routePlanner, canPlan := impl.(routes.Planner)
	switch {
	case !p.configuresRoutes() || !ok || !canPlan || err != nil:
	case len(ranges) == 0:
		printNote(p.err, "routes are listed and not compared: give the manager's --%s, or --%s=false", flagClusterCIDR,
			flagCloudRoutes)
	default:
		s.PlanRoutes = func(ctx context.Context, nodes []*v1.Node) (plan.Plan, error) {
			return routePlanner.PlanRoutes(ctx, p.options.clusterName, nodes, ranges)
		}
	}
	return s
}
