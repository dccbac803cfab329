#!/usr/bin/env bash
# Drives simulated Compute Engine with the modules of ansible's collection google.cloud: a run that creates, a second one
# that must change nothing, and one that deletes. The variables endpoint and work, an empty folder, are expected.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=compute.googleapis.com \
	-addext 'subjectAltName=DNS:compute.googleapis.com,DNS:www.googleapis.com' -keyout "$work/tls.key" -out "$work/tls.crt" 2>/dev/null
coproc proxy { exec /usr/bin/python3 "$here/tls_proxy.py" "$endpoint" "$work/tls.crt" "$work/tls.key"; }
# shellcheck disable=SC2154 # coproc sets it
trap 'kill "$proxy_PID"' EXIT
read -r port <&"${proxy[0]}"
export HTTPS_PROXY=http://127.0.0.1:$port https_proxy=http://127.0.0.1:$port no_proxy=127.0.0.1 NO_PROXY=127.0.0.1
export REQUESTS_CA_BUNDLE=$work/tls.crt ANSIBLE_NOCOLOR=1 ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_HOME=$work
export GCE_METADATA_ROOT=${endpoint#http://} GCE_METADATA_IP=${endpoint#http://}
export ANSIBLE_INVENTORY_UNPARSED_WARNING=false

play() { # wanted changes, at most; name; options
	local recap
	ansible-playbook -i localhost, -c local -e ansible_python_interpreter=/usr/bin/python3 "${@:3}" "$here/ansible.yml" \
		>"$work/ansible-$2.log" 2>&1 || { cat "$work/ansible-$2.log" >&2; return 1; }
	recap=$(grep -o 'changed=[0-9]*' "$work/ansible-$2.log")
	[[ ${recap#changed=} == "$1" ]] || { cat "$work/ansible-$2.log" >&2; echo "ansible: $2: $recap, want $1" >&2; return 1; }
}

play 8 create
play 0 again
play 8 delete -e state=absent
echo "ansible: created, changed nothing in a second run, and deleted"
