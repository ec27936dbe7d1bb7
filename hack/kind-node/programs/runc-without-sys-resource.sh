#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# runc without CAP_SYS_RESOURCE, for machines that do not have this capability. Docker asks for every capability of the
# kernel when a container or an exec is privileged, and runc refuses one that it cannot give.
prev=
for arg in "$@"; do
	case "$prev" in
	--bundle | -b) file=$arg/config.json ;;
	--process | -p) file=$arg ;;
	*) file= ;;
	esac
	[ -z "$file" ] || [ ! -f "$file" ] || sed -i -e 's/"CAP_SYS_RESOURCE",//g' -e 's/,"CAP_SYS_RESOURCE"//g' "$file"
	prev=$arg
done
exec runc "$@"
