// SPDX-License-Identifier: Apache-2.0

package membercollector

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/imagename"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// The names of the manager's Deployment on the host, and of its container.
const (
	Manager          = "fairlead-manager"
	managerContainer = "manager"
)

const (
	// AnnotationCollectorImage is an annotation whose value is an image of the collector. On the manager's Deployment it is
	// the image for the collectors of all members. An administrator of the host can set it, for example if hostctl cannot
	// derive that image from the manager's image. On a collector's Deployment it is the image that the user gave to a join.
	AnnotationCollectorImage = v1alpha1.Group + "/collector-image"
	// annotationManagerImage is an annotation on a collector's Deployment. Its value is the image that the manager had
	// when a join set AnnotationCollectorImage.
	annotationManagerImage = v1alpha1.Group + "/manager-image"
)

// ImageOfHost is a value of --image. With it the join derives the collector's image from the host's manager, even if the
// user gave an image to an earlier join.
const ImageOfHost = "host"

// CheckImage returns an error if image is neither "", nor ImageOfHost, nor an image reference.
func CheckImage(image string) error {
	if image == "" || image == ImageOfHost {
		return nil
	}
	_, err := imagename.Parse(image)
	return err
}

// CheckRegistry returns an error if registry is neither "" nor of the form HOST[:PORT][/PREFIX].
func CheckRegistry(registry string) error {
	if registry == "" {
		return nil
	}
	// imagename checks repositories and not registries, so CheckRegistry checks the repository that the collector's image
	// would have.
	if imagename.CheckRepository(strings.TrimRight(registry, "/")+"/collector") != nil {
		return fmt.Errorf("%q is not a registry: write HOST[:PORT][/PREFIX]", registry)
	}
	return nil
}

// containerOf returns the container of that name in a Deployment, or an empty Container if the Deployment has no such container.
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

// chosenImage is the image of a collector. If the user gave the image to this or an earlier join, the field annotations
// records it for the next join. For any other image that field is nil.
type chosenImage struct {
	image       string
	annotations map[string]string
}

// chooseImage returns the first of these images that exists:
//
//  1. the image that the user gave to this join, by --image or --image-registry
//  2. the image that the user gave to an earlier join, unless this join has --image host
//  3. the image that chooseImage derives from the host's manager
//
// If the manager's image has changed since the earlier join, image 2 keeps its repository and gets the tag of the manager's
// image. So a join after an upgrade of the host upgrades the collector too.
func chooseImage(manager *appsv1.Deployment, given Given, present *appsv1.Deployment) (chosenImage, error) {
	of := containerOf(manager, managerContainer).Image
	keep := func(image string) (chosenImage, error) {
		name, err := imagename.Parse(image)
		if err != nil {
			return chosenImage{}, err
		}
		if name.Tag == "" && name.Digest == "" {
			if image, err = withTagOf(of, name.Repository); err != nil {
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
		name, err := imagename.Parse(earlier)
		if err != nil {
			return chosenImage{}, fmt.Errorf("annotation %s of the collector's Deployment on the member: %w. To replace that image, give --image", AnnotationCollectorImage, err)
		}
		return keep(name.Repository)
	}
}

func earlierImage(present *appsv1.Deployment) string {
	if present == nil {
		return ""
	}
	return present.Annotations[AnnotationCollectorImage]
}

// imageOfHost returns the collector's image that belongs to the host's manager: the value of the annotation
// AnnotationCollectorImage on the manager's Deployment. Without the annotation it derives the image from the manager's
// image, because both images are pushed to one registry under one tag.
func imageOfHost(manager *appsv1.Deployment) (string, error) {
	if manager != nil && manager.Annotations[AnnotationCollectorImage] != "" {
		image := manager.Annotations[AnnotationCollectorImage]
		if _, err := imagename.Parse(image); err != nil {
			return "", fmt.Errorf("annotation %s of the host's Deployment %s/%s: %w", AnnotationCollectorImage, v1alpha1.SystemNamespace, Manager, err)
		}
		return image, nil
	}
	image := containerOf(manager, managerContainer).Image
	if image == "" {
		return "", fmt.Errorf("the host has no Deployment %s/%s, so hostctl cannot derive the collector's image from the manager's. "+
			"Give --image, or run the collector in the manager with --collector Host",
			v1alpha1.SystemNamespace, Manager)
	}
	name, err := imagename.Parse(image)
	if err != nil {
		return "", fmt.Errorf("the manager's image in the host's Deployment %s/%s: %w. To name the collector's image yourself, give --image", v1alpha1.SystemNamespace, Manager, err)
	}
	prefix, found := strings.CutSuffix(name.Repository, "/manager")
	if !found {
		return "", fmt.Errorf("the manager's image %s does not end in /manager, so hostctl cannot derive the collector's image from it. Give --image", image)
	}
	return withTagOf(image, prefix+"/collector")
}

// withTagOf returns a repository with the tag of image. If image has only a digest, withTagOf takes the version of this
// hostctl as the tag. If image has neither tag nor digest, it takes the tag latest.
func withTagOf(image, repository string) (string, error) {
	if image == "" {
		return "", errors.New("--image has no tag, and hostctl cannot take the tag of the manager's image, because the host has no Deployment of the manager: give --image REPOSITORY:TAG")
	}
	name, err := imagename.Parse(image)
	switch {
	case err != nil:
		return "", fmt.Errorf("the manager's image in the host's Deployment %s/%s: %w. To name the tag yourself, give --image with a tag", v1alpha1.SystemNamespace, Manager, err)
	case name.Tag == "" && name.Digest != "":
		// The digest belongs to the manager's image, so the collector's image cannot have it. But all images of one version
		// are pushed under the version's tag.
		return repository + ":" + imagename.TagOf(version.String()), nil
	}
	return repository + ":" + cmp.Or(name.Tag, "latest"), nil
}
