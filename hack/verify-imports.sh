#!/usr/bin/env bash
# Who may import whom, tests included: pkg/common no provider and no command,
# providers neither each other nor a command, and only the commands everything.
# The linter says the same in an editor; this needs no edit for a new provider.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

failed=0
for module in $(workspace_modules); do
	case $module in
	cmd) continue ;;
	pkg/common) allowed="pkg/common" ;;
	providers/*) allowed="pkg/common|$module" ;;
	*) allowed="$module" ;;
	esac
	imports=$(go list -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}
{{end}}{{range .TestImports}}{{$p}} {{.}}
{{end}}{{range .XTestImports}}{{$p}} {{.}}
{{end}}' "./$module/...")
	wrong=$(grep -E " $module_prefix/" <<<"$imports" | grep -vE " $module_prefix/($allowed)(/|\$)" | sort -u || true)
	if [[ -n $wrong ]]; then
		echo "$module may only import ${allowed//|/ and } of this repository:"
		sed "s|$module_prefix/||g; s|^\([^ ]*\) |  \1 imports |" <<<"$wrong"
		failed=1
	fi
done
exit $failed
