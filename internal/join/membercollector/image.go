// SPDX-License-Identifier: Apache-2.0

package membercollector

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// The Deployment of the manager on the host, and its container.
const (
	Manager          = "fairlead-manager"
	managerContainer = "manager"
)

const (
	// AnnotationCollectorImage on the manager's Deployment names the image of the collectors. The host's installation sets it where
	// the name does not follow from the manager's image. On a collector's Deployment it is the image that a join was given.
	AnnotationCollectorImage = v1alpha1.Group + "/collector-image"
	// annotationManagerImage is the manager's image at the join that was given AnnotationCollectorImage.
	annotationManagerImage = v1alpha1.Group + "/manager-image"
)

// ImageOfHost is the name that, given as an image, makes a member follow the host's manager again.
const ImageOfHost = "host"

// reference is REPOSITORY[:TAG][@DIGEST]. The runtime on the node checks the rest.
var reference = regexp.MustCompile(`^([a-z0-9][a-zA-Z0-9._:/-]*?)(:([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(@(sha256:[0-9a-f]{64}))?$`)

// imageName is an image's name in its parts; tag and digest may be empty.
type imageName struct{ repository, tag, digest string }

func parseImage(image string) (imageName, error) {
	parts := reference.FindStringSubmatch(image)
	if parts == nil {
		return imageName{}, fmt.Errorf("%q is no image: write REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:DIGEST", image)
	}
	return imageName{repository: parts[1], tag: parts[3], digest: parts[5]}, nil
}

// CheckImage refuses an image that a join cannot use.
func CheckImage(image string) error {
	if image == "" || image == ImageOfHost {
		return nil
	}
	_, err := parseImage(image)
	return err
}

// CheckRegistry refuses a registry that a join cannot use.
func CheckRegistry(registry string) error {
	if registry == "" {
		return nil
	}
	name, err := parseImage(strings.TrimRight(registry, "/") + "/collector")
	if err != nil || strings.Contains(registry, "://") || name.tag != "" {
		return fmt.Errorf("%q is no registry: write HOST[:PORT][/PREFIX]", registry)
	}
	return nil
}

// containerOf is a container of a Deployment, empty if it has none of that name.
func containerOf(d *appsv1.Deployment, name string) corev1.Container {
	if d != nil {
		for _, c := range d.Spec.Template.Spec.Containers {
			if c.Name == name {
				return c
			}
		}
	}
	return corev1.Container{}
}

// chosenImage is the image of a collector, and the annotations that keep the choice for the next join.
type chosenImage struct {
	image       string
	annotations map[string]string
}

// chooseImage takes the image that this join is given, else the image that an earlier join was given, else the image that
// belongs to the host's manager. An image of an earlier join takes the tag of the manager when the manager has another image
// than at that join: so a join after an upgrade of the host upgrades the collector.
func chooseImage(manager *appsv1.Deployment, given Given, present *appsv1.Deployment) (chosenImage, error) {
	of := containerOf(manager, managerContainer).Image
	keep := func(image string) (chosenImage, error) {
		name, err := parseImage(image)
		if err != nil {
			return chosenImage{}, err
		}
		if name.tag == "" && name.digest == "" {
			if image, err = withTagOf(of, name.repository); err != nil {
				return chosenImage{}, err
			}
		}
		return chosenImage{image: image, annotations: map[string]string{AnnotationCollectorImage: image, annotationManagerImage: of}}, nil
	}
	switch earlier := earlierImage(present); {
	case given.Image != "" && given.Image != ImageOfHost:
		return keep(given.Image)
	case given.Registry != "":
		return keep(strings.TrimRight(given.Registry, "/") + "/collector")
	case given.Image == ImageOfHost || earlier == "":
		image, err := imageOfHost(manager)
		return chosenImage{image: image}, err
	case of == "" || present.Annotations[annotationManagerImage] == of:
		return chosenImage{image: earlier, annotations: map[string]string{
			AnnotationCollectorImage: earlier, annotationManagerImage: present.Annotations[annotationManagerImage]}}, nil
	default:
		name, err := parseImage(earlier)
		if err != nil {
			return chosenImage{}, err
		}
		return keep(name.repository)
	}
}

func earlierImage(present *appsv1.Deployment) string {
	if present == nil {
		return ""
	}
	return present.Annotations[AnnotationCollectorImage]
}

// imageOfHost is the collector's image that belongs to the host's manager: both are pushed to one place under one tag.
func imageOfHost(manager *appsv1.Deployment) (string, error) {
	if manager != nil && manager.Annotations[AnnotationCollectorImage] != "" {
		image := manager.Annotations[AnnotationCollectorImage]
		_, err := parseImage(image)
		return image, err
	}
	image := containerOf(manager, managerContainer).Image
	if image == "" {
		return "", fmt.Errorf("the host has no Deployment %s/%s from whose image the name of the collector's follows: give --image, or run the collector in the manager with --collector Host",
			v1alpha1.SystemNamespace, Manager)
	}
	name, err := parseImage(image)
	if err != nil {
		return "", err
	}
	prefix, found := strings.CutSuffix(name.repository, "/manager")
	if !found {
		return "", fmt.Errorf("the manager's image %s does not end in /manager, so hostctl cannot derive the collector's image from it. Give --image", image)
	}
	return withTagOf(image, prefix+"/collector")
}

// withTagOf is a repository with the tag of another image. Where that has a digest only, the tag is that of this version.
func withTagOf(image, repository string) (string, error) {
	if image == "" {
		return "", errors.New("the host has no Deployment of the manager whose tag the collector's image could take: give --image REPOSITORY:TAG")
	}
	name, err := parseImage(image)
	switch {
	case err != nil:
		return "", err
	case name.tag == "" && name.digest != "":
		// The collector's image has another digest. Both are pushed under the tag of their version.
		return repository + ":" + strings.ReplaceAll(version.String(), "+", "-"), nil
	}
	return repository + ":" + cmp.Or(name.tag, "latest"), nil
}
