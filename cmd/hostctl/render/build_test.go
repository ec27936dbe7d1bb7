// SPDX-License-Identifier: Apache-2.0

package render

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func raw(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }

func value(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }
