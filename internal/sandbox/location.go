// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
)

// HostName is the name of the host among the clusters.
const HostName = "host"

// MemberName returns the name of the i-th member, from 1.
func MemberName(i int) string { return fmt.Sprintf("member-%d", i) }

// Place is where a cluster pretends to be. The cluster's nodes have it in labels, and so has the MemberCluster.
type Place struct {
	Cloud  string // aws, gcp or onprem
	Region string
	Zones  []string // each zone has one node
}

// PlaceOf returns the place of the i-th member, or of the host if i is 0. The first three members are in three clouds, and the first six in six regions.
func PlaceOf(i int) Place {
	if i == 0 {
		return zones("onprem", "hq", "hq-1", "hq-2", "hq-3")
	}
	places := []Place{
		zones("aws", "eu-west-1", "eu-west-1a", "eu-west-1b", "eu-west-1c"),
		zones("gcp", "europe-west4", "europe-west4-a", "europe-west4-b", "europe-west4-c"),
		zones("onprem", "berlin", "berlin-1", "berlin-2", "berlin-3"),
		zones("aws", "us-east-1", "us-east-1a", "us-east-1b", "us-east-1c"),
		zones("gcp", "us-central1", "us-central1-a", "us-central1-b", "us-central1-c"),
		zones("onprem", "chicago", "chicago-1", "chicago-2", "chicago-3"),
	}
	return places[(i-1)%len(places)]
}

// labels returns the labels of the MemberCluster of a member at this place.
func (p Place) labels() map[string]string {
	return map[string]string{"cloud": p.Cloud, corev1.LabelTopologyRegion: p.Region, corev1.LabelTopologyZone: p.Zones[0]}
}

func zones(cloud, region string, names ...string) Place {
	return Place{Cloud: cloud, Region: region, Zones: names}
}

func nodesOf(name string, p Place) []cluster.Node {
	var nodes []cluster.Node
	for i, zone := range p.Zones {
		nodes = append(nodes, cluster.Node{Name: fmt.Sprintf("%s-node-%d", name, i+1), Region: p.Region, Zone: zone})
	}
	return nodes
}
