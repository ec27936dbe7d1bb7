#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Shows what Fairlead does on a sandbox called default, with the commands that a user would type. `make demo` builds first.
# A second run repeats the steps that can be repeated, and names those that an earlier run has done. It also works after
# a failed run.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v1.1.0 # the upgrade of the operator, which begins with v1.0.0

if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
	bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' plain=$'\e[0m'
else
	bold='' dim='' red='' plain=''
fi

step='starting'
finished=

# Prints the step that failed, and the places where the cause can be found.
farewell() {
	local code=$?
	[[ -z $finished ]] || return 0
	printf '\n%s✗ The demo ended early (exit code %d) while %s.%s\n' "$red" "$code" "$step" "$plain" >&2
	cat >&2 <<-EOF
		  State:        bin/hostctl sandbox list
		                eval "\$(bin/hostctl sandbox env)"; kubectl describe federation -A; kubectl describe memberclusters
		  Logs:         ${XDG_CACHE_HOME:-$HOME/.cache}/fairlead/sandboxes/default/*/logs
		  After the repair run \`make demo\` again; \`make demo-down\` takes everything down.
	EOF
}
trap farewell EXIT

headline() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
say() { printf '\n%s\n' "$*"; }

# Quotes a word for the shell.
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

# Is like run, for a command that waits. The first argument names the condition. If the command fails, farewell prints
# the condition.
await() {
	step="waiting until $1"
	shift
	run "$@"
}

members=(member-1 member-2 member-3)

# Prints one line of the table: the objects of one member.
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
	say "Each member now has: class fast with a provisioner, the claim with its class, and the operator. The commands for one member:"
	# shellcheck disable=SC2016 # to be read, not expanded
	{
		show 'kubectl --context $member get storageclass fast'
		show 'kubectl --context $member -n shop get persistentvolumeclaim,subscription,clusterserviceversion'
	}
	printf '%s%-10s  %-23s  %-28s  %s%s\n' "$dim" MEMBER 'CLASS FAST IS' 'CLAIM DATA' OPERATOR "$plain"
	local member
	for member in "${members[@]}"; do line "$member"; done
}

# Prints the operator's versions from the wrapper's status: one word for each member.
versions() { kubectl -n shop get federated shop -o jsonpath='{.status.clusters[*].version}'; }

# Succeeds when every member has the version or a later one.
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
say 'This needs no cluster: a wrapper holds one StorageClass, and hostctl shows what it becomes on two clouds.'
step='rendering config/samples/storageclass-fast.yaml'
run cat config/samples/storageclass-fast.yaml
run bin/hostctl render -f config/samples/storageclass-fast.yaml --assume-cluster eu-1,cloud=aws --assume-cluster us-1,cloud=gcp

headline '0. A host and three members'
step='bringing the sandbox up'
run bin/hostctl sandbox up --olm
environment=$(bin/hostctl sandbox env)
show 'eval "$(bin/hostctl sandbox env)"'
eval "$environment"
step='listing the members'
run kubectl get memberclusters --label-columns cloud,topology.kubernetes.io/region,topology.kubernetes.io/zone

headline '1. Write it once, at the host'
step='making namespace shop on the host'
if ! kubectl get namespace shop >/dev/null 2>&1; then run kubectl create namespace shop; fi

say 'The wrapper of StorageClass fast, shown above: one name everywhere, another provisioner on each cloud.'
step='writing ClusterFederated fast'
if kubectl get clusterfederated fast >/dev/null 2>&1; then
	say 'It exists from an earlier run, so this run applies it.'
	run kubectl apply --server-side --force-conflicts -f config/samples/storageclass-fast.yaml
else
	run kubectl create -f config/samples/storageclass-fast.yaml
fi

say "The shop is plain manifests: a ConfigMap, a claim that names no class, an OperatorGroup and a Subscription. hostctl makes
one wrapper of them; it writes to no cluster."
step='writing Federated shop'
run bin/hostctl federate -f config/samples/plain/shop --bundle shop --all-clusters
say "The operator's version and the differences between clouds are a patch for this wrapper: config/samples/plain/shop-patch.yaml.
The patched wrapper goes to the host."
if kubectl -n shop get federated shop >/dev/null 2>&1; then
	say 'Federated shop exists from an earlier run. This run leaves it as it is, because its operator may have been upgraded.'
else
	show "bin/hostctl federate -f config/samples/plain/shop --bundle shop --all-clusters |
    kubectl patch --local -f - --type merge --patch-file config/samples/plain/shop-patch.yaml -o yaml |
    kubectl create -f -"
	bin/hostctl federate -f config/samples/plain/shop --bundle shop --all-clusters |
		kubectl patch --local -f - --type merge --patch-file config/samples/plain/shop-patch.yaml -o yaml |
		kubectl create -f -
fi

headline '2. Each member has the objects, with its own differences'
say "Ready means: every member has the objects, and they are healthy. The claim is bound, and OLM has installed the operator."
await 'clusterfederated/fast and federated/shop are Ready' \
	kubectl wait --for=condition=Ready clusterfederated/fast federated/shop -n shop --timeout=5m
run kubectl get federation -A
table

headline '3. A change made on a member is repaired'
say 'The storefront of member-1 is changed by hand, on the member.'
step='changing the storefront of member-1'
run kubectl --context member-1 -n shop patch configmap storefront --type merge -p '{"data":{"currency":"USD"}}'
await 'the host has repaired the storefront of member-1' \
	kubectl --context member-1 -n shop wait --for='jsonpath={.data.currency}=EUR' configmap/storefront --timeout=60s
say 'The storefront of member-2 is deleted.'
step='deleting the storefront of member-2'
run kubectl --context member-2 -n shop delete configmap storefront
await 'the storefront of member-2 is back' \
	kubectl --context member-2 -n shop wait --for=create configmap/storefront --timeout=60s
run kubectl --context member-2 -n shop get configmap storefront -o 'jsonpath={.data}{"\n"}'
await 'federated/shop is Ready again' kubectl -n shop wait --for=condition=Ready federated/shop --timeout=60s

headline '4. The operator is upgraded in two waves'
if upgraded; then
	say "An earlier run has upgraded the operator already: the members have $(versions)."
else
	say "$version of the operator goes into the catalogs of all members at once. OLM offers it, and no member takes it: the wrapper's
target is still v1.0.0."
	step="publishing $version"
	run bin/hostctl sandbox publish "$version"
	say 'One edit raises the target. It also asks for two waves: first the member on premises, then the others, when a person says so.'
	step='raising the target'
	run cat config/samples/plain/shop-v1.1.0.yaml
	run kubectl -n shop patch federated shop --type merge --patch-file config/samples/plain/shop-v1.1.0.yaml
	if kubectl -n shop get approvals -o name | grep -q .; then
		say 'An earlier run has approved wave rest.'
	else
		say 'The canary gets the new version and has to stay healthy for 10 seconds. Then the rollout waits for a person.'
		await 'wave rest waits for its approval' \
			kubectl -n shop wait --for='jsonpath={.status.rollout.waitingFor}=WaveNeedsApproval' federated/shop --timeout=5m
		step='reading the rollout'
		run bin/hostctl rollout status shop -n shop || [[ $? == 4 ]] # 4: it waits for a person
		say 'The canary is fine, so you let the last wave begin.'
		step='approving wave rest'
		run bin/hostctl approve shop -n shop --wave rest --yes
	fi
	await 'the rollout is complete' \
		kubectl -n shop wait --for='jsonpath={.status.rollout.state}=Complete' federated/shop --timeout=5m
	await 'federated/shop is Ready again' kubectl -n shop wait --for=condition=Ready federated/shop --timeout=5m
	step='reading the rollout'
	run bin/hostctl rollout status shop -n shop
	run bin/hostctl rollout history shop -n shop
	table
fi

headline '5. The demo keeps running'
finished=yes
host=$(bin/hostctl sandbox kubeconfig host)
cat <<EOF

kubeconfigs  $KUBECONFIG (contexts host, member-1, member-2, member-3)
             one for each cluster: ${host%/host/kubeconfig}/CLUSTER/kubeconfig

To have kubectl and these clusters in your shell:
  eval "\$(bin/hostctl sandbox env)"

To try next:
  bin/hostctl rollout history shop -n shop --revision 2          # what the upgrade has changed in the wrapper
  kubectl create -f config/samples/greeting.yaml                 # a custom resource for it; then, its result:
  kubectl --context member-1 -n shop get configmap welcome-messages -o yaml
  kubectl label member member-2 greeting=Servus                  # an override takes the greeting from a member's label
  bin/hostctl sandbox stop member-3                              # an outage, which \`kubectl get memberclusters\` shows soon
  bin/hostctl sandbox start member-3                             # the end of the outage
  bin/hostctl render shop -n shop --cluster member-1             # the objects for member-1
  bin/hostctl sandbox kubectl member-2 -- get all -n shop        # kubectl without any setting

To take it down, all but the built control planes:
  make demo-down
EOF
