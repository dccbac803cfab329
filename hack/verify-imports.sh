#!/usr/bin/env bash
# Rules of imports. pkg/common imports no provider and no command; a provider imports neither
# another provider nor a command. Only tests, simulators and ccm-lab import a simulator or the
# conformance suite, so that a program that links a provider links neither; fake is a simulator.
# This needs no edit for a new provider, and reads what the binary links, which the linter's list of packages does not. The
# linter forbids the SDKs of clouds outside of providers.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The modules of the workspace, longest path first: a package belongs to the first one that is a prefix.
mapfile -t modules < <(workspace_modules | awk '{ print length, $0 }' | sort -rn | cut -d' ' -f2)

# allowed prints the modules that the packages of a module may import besides its own.
allowed() { # module product|tests
	case $1 in
	pkg/common) [[ $2 == product ]] || echo pkg/common/conformance ;;
	cmd/ccm-lab) printf '%s\n' "${modules[@]}" ;;
	cmd)
		echo pkg/common
		printf '%s\n' "${modules[@]}" | grep -E '^providers/[^/]+$'
		[[ $2 == product ]] || printf '%s\n' "${modules[@]}" | grep -E '/sim$'
		;;
	providers/*)
		echo pkg/common
		[[ $2 == product ]] || printf '%s\n' pkg/common/conformance "$1/sim"
		;;
	*) echo pkg/common ;;
	esac
}

# check compares "package import" pairs on its input with what a module may import.
check() { # module product|tests
	awk -v prefix="$module_prefix/" -v modules="${modules[*]}" -v own_module="$1" -v kind="$2" \
		-v allowed="$(allowed "$1" "$2" | tr '\n' ' ')" '
		BEGIN {
			n = split(modules, module, " ")
			split(allowed " " own_module, list, " ")
			for (i in list) may[list[i]] = 1
		}
		index($2, prefix) == 1 {
			path = substr($2, length(prefix) + 1)
			for (i = 1; i <= n; i++) {
				if (path != module[i] && index(path, module[i] "/") != 1) continue
				if (!(module[i] in may)) {
					printf "%s (%s) imports %s of module %s\n", substr($1, length(prefix) + 1), kind, path, module[i]
					failed = 1
				}
				break
			}
		}
		END { exit failed }'
}

failed=0
for module in "${modules[@]}"; do
	go list -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}
{{end}}' "./$module/..." | sort -u | check "$module" product || failed=1
	go list -f '{{$p := .ImportPath}}{{range .TestImports}}{{$p}} {{.}}
{{end}}{{range .XTestImports}}{{$p}} {{.}}
{{end}}' "./$module/..." | sort -u | check "$module" tests || failed=1
done

# The purpose: of all simulators, ccm links only the one of fake.
if linked=$(go list -deps ./cmd/ccm | grep -E "^$module_prefix/($(test_modules | paste -sd'|'))(/|\$)"); then
	printf 'ccm links a simulator or the conformance suite:\n%s\n' "$linked"
	failed=1
fi
exit $failed
