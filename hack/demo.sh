#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Shows what Fairlead does on a sandbox called default, command by command, as a user would type them. `make demo` builds
# first. Run again it repeats what can be repeated and says what is done already; after a failure, too.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v1.1.0 # that the operator is upgraded to; it begins with v1.0.0

if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
	bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' plain=$'\e[0m'
else
	bold='' dim='' red='' plain=''
fi

step='starting'
finished=

# What is left when something fails: where it was, and where to look.
farewell() {
	local code=$?
	[[ -z $finished ]] || return 0
	printf '\n%s✗ The demo ended early (exit code %d) while %s.%s\n' "$red" "$code" "$step" "$plain" >&2
	cat >&2 <<-EOF
		  What stands:  bin/hostctl sandbox list
		                eval "\$(bin/hostctl sandbox env)"; kubectl describe federation -A; kubectl describe memberclusters
		  Logs:         ${XDG_CACHE_HOME:-$HOME/.cache}/fairlead/sandboxes/default/*/logs
		  Once mended, \`make demo\` goes on; \`make demo-down\` takes everything down.
	EOF
}
trap farewell EXIT

headline() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
say() { printf '\n%s\n' "$*"; }

# A word as one would type it.
quoted() {
	if [[ $1 =~ ^[A-Za-z0-9_./:,@%+=-]+$ ]]; then printf '%s' "$1"; else printf "'%s'" "${1//\'/\'\\\'\'}"; fi
}

show() { printf '%s$ %s%s\n' "$bold" "$*" "$plain"; }

# Prints a command, then runs it.
run() {
	local word words=()
	for word; do words+=("$(quoted "$word")"); done
	show "${words[*]}"
	"$@"
}

# As run, for what waits for a condition; the first argument says what that is, for whoever waited in vain.
await() {
	step="waiting until $1"
	shift
	run "$@"
}

members=(member-1 member-2 member-3)

# What one member has, in a line of the table.
line() {
	local member=$1 provisioner claim csv
	provisioner=$(kubectl --context "$member" get storageclass fast -o jsonpath='{.provisioner}')
	claim=$(kubectl --context "$member" -n shop get persistentvolumeclaim data -o jsonpath='{.spec.storageClassName} {.status.phase}')
	csv=$(kubectl --context "$member" -n shop get subscription demo-operator -o jsonpath='{.status.installedCSV}')
	printf '%-10s  %-23s  %-28s  %s %s\n' "$member" "$provisioner" "$claim" "$csv" \
		"$(kubectl --context "$member" -n shop get clusterserviceversion "$csv" -o jsonpath='{.status.phase}')"
}

table() {
	step='reading what the members have'
	say "What each member has now: the provisioner of class fast, the claim with its class, the operator. Asked with, for each:"
	# shellcheck disable=SC2016 # to be read, not expanded
	{
		show 'kubectl --context $member get storageclass fast'
		show 'kubectl --context $member -n shop get persistentvolumeclaim,subscription,clusterserviceversion'
	}
	printf '%s%-10s  %-23s  %-28s  %s%s\n' "$dim" MEMBER 'CLASS FAST IS' 'CLAIM DATA' OPERATOR "$plain"
	local member
	for member in "${members[@]}"; do line "$member"; done
}

# The operator's versions, as the host knows them: one word for each member.
versions() { kubectl -n shop get federated shop -o jsonpath='{.status.clusters[*].version}'; }

# Whether every member has the version, or one that came after it.
upgraded() {
	local word count=0
	for word in $(versions); do
		if [[ $word == demo-operator.v1.0.* ]]; then return 1; fi
		count=$((count + 1))
	done
	((count == ${#members[@]}))
}

headline 'Fairlead: one host, three members, real control planes'
say 'A host and three members come up on this machine, with OLM on the members, and join. The first time the control
planes are built from source, which takes 10 to 15 minutes; later it takes a minute or two.'
step='bringing the sandbox up'
run bin/hostctl sandbox up --olm
environment=$(bin/hostctl sandbox env)
show 'eval "$(bin/hostctl sandbox env)"'
eval "$environment"
step='looking at the members'
run kubectl get memberclusters --label-columns cloud,topology.kubernetes.io/region,topology.kubernetes.io/zone

headline '1. Say it once, at the host'
step='making namespace shop on the host'
if ! kubectl get namespace shop >/dev/null 2>&1; then run kubectl create namespace shop; fi

verb=(create)
if kubectl -n shop get federated shop >/dev/null 2>&1 || kubectl get clusterfederated fast >/dev/null 2>&1; then
	verb=(apply --server-side --force-conflicts)
	say 'The wrappers are there from an earlier run, so this time they are applied.'
fi
say 'A StorageClass called fast, wrapped: one name everywhere, another provisioner on each cloud.'
step='writing ClusterFederated fast'
run cat config/samples/storageclass-fast.yaml
run kubectl "${verb[@]}" -f config/samples/storageclass-fast.yaml

say "The shop is plain manifests: a ConfigMap, a claim that names no class, an OperatorGroup and a Subscription. hostctl makes
one wrapper of them; it writes to no cluster."
step='writing Federated shop'
run bin/hostctl federate -f config/samples/plain/shop --bundle shop --all-clusters
say 'What differs between clouds is a patch on that: config/samples/plain/shop-overrides.yaml. Both together go to the host.'
show "bin/hostctl federate -f config/samples/plain/shop --bundle shop --all-clusters |
    kubectl patch --local -f - --type merge --patch-file config/samples/plain/shop-overrides.yaml -o yaml |
    kubectl ${verb[*]} -f -"
bin/hostctl federate -f config/samples/plain/shop --bundle shop --all-clusters |
	kubectl patch --local -f - --type merge --patch-file config/samples/plain/shop-overrides.yaml -o yaml |
	kubectl "${verb[@]}" -f -

headline '2. It is there, tailored'
say "Ready means: on every member, and well there. The claim is bound, and OLM has installed the operator."
await 'clusterfederated/fast and federated/shop are Ready' \
	kubectl wait --for=condition=Ready clusterfederated/fast federated/shop -n shop --timeout=5m
run kubectl get federation -A
table

headline '3. What somebody changes on a member is put right'
say 'The storefront of member-1 is changed by hand, behind the back of the host.'
step='changing the storefront of member-1'
run kubectl --context member-1 -n shop patch configmap storefront --type merge -p '{"data":{"currency":"USD"}}'
await 'the host has put the storefront of member-1 right' \
	kubectl --context member-1 -n shop wait --for='jsonpath={.data.currency}=EUR' configmap/storefront --timeout=60s
say 'That of member-2 is deleted.'
step='deleting the storefront of member-2'
run kubectl --context member-2 -n shop delete configmap storefront
await 'the storefront of member-2 is back' \
	kubectl --context member-2 -n shop wait --for=create configmap/storefront --timeout=60s
run kubectl --context member-2 -n shop get configmap storefront -o 'jsonpath={.data}{"\n"}'
await 'federated/shop is Ready again' kubectl -n shop wait --for=condition=Ready federated/shop --timeout=60s

headline "4. Each member's OLM upgrades the operator"
if upgraded; then
	say "$version has been published already, by an earlier run: the members have $(versions)."
else
	say "$version of the operator goes into the members' catalogs. The Subscriptions are Automatic, so OLM upgrades; the host only
watches: Ready drops, and returns."
	step="publishing $version"
	# Begun before publishing: an upgrade takes seconds, and who asks afterwards may be too late to see it.
	show 'kubectl -n shop wait --for=condition=Ready=False federated/shop --timeout=2m &'
	kubectl -n shop wait --for=condition=Ready=False federated/shop --timeout=2m &
	watcher=$!
	run bin/hostctl sandbox publish "$version"
	if wait "$watcher"; then
		run kubectl -n shop get federated shop
	else
		say 'Ready was not seen to drop: the upgrade was over sooner than that.'
	fi
	step="waiting until every member has the operator's $version (it has: $(versions))"
	deadline=$((SECONDS + 300))
	until upgraded; do
		if ((SECONDS > deadline)); then
			step="waiting five minutes until every member has the operator's $version (the members have: $(versions))"
			exit 1
		fi
		sleep 1
	done
	await 'federated/shop is Ready again' kubectl -n shop wait --for=condition=Ready federated/shop --timeout=5m
	table
fi

headline '5. It stays up'
finished=yes
host=$(bin/hostctl sandbox kubeconfig host)
cat <<EOF

kubeconfigs  $KUBECONFIG (contexts host, member-1, member-2, member-3)
             one for each cluster: ${host%/host/kubeconfig}/CLUSTER/kubeconfig

To have kubectl and these clusters in your shell:
  eval "\$(bin/hostctl sandbox env)"

To try next:
  bin/hostctl sandbox publish v1.2.0                             # the operator's next version
  kubectl create -f config/samples/greeting.yaml                 # a custom resource for it; then, what it made of that:
  kubectl --context member-1 -n shop get configmap welcome-messages -o yaml
  kubectl label member member-2 greeting=Servus                  # an override takes the greeting from a member's label
  bin/hostctl sandbox stop member-3                              # an outage, which \`kubectl get memberclusters\` tells of soon
  bin/hostctl sandbox start member-3                             # and its end
  bin/hostctl render shop -n shop --cluster member-1             # what exactly goes to member-1
  bin/hostctl sandbox kubectl member-2 -- get all -n shop        # kubectl without any setting

To take it down, all but the built control planes:
  make demo-down
EOF
