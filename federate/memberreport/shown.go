// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/cause"
	"github.com/fairlead-dev/fairlead/federate/health"
)

const (
	// maxName is the limit of the name of an object on the host, in bytes.
	maxName = 253
	// maxReason and maxMessage are the limits in the schema of a MemberReport, in bytes.
	maxReason, maxMessage = 64, 1024
	// keyDigits is the number of hexadecimal digits in a key.
	keyDigits = 10
)

// Shown is an object of a wrapper that is not healthy on a member, with evidence about it.
type Shown struct {
	Key             Key
	Object          v1alpha1.ReportedObject
	Reason, Message string
	Evidence        v1alpha1.Evidence
}

// Of returns what a member shows of a wrapper: the objects of its Delivery that are not healthy and have evidence. The evidence has to
// be bounded already. Reasons and messages are cleaned and cut.
func Of(wrapper *v1alpha1.WrapperIdentity, member string, objects []v1alpha1.ObjectStatus, evidence []v1alpha1.ObjectEvidence) []Shown {
	var all []Shown
	for i := range evidence {
		e := &evidence[i]
		for j := range objects {
			o := &objects[j]
			if o.Health == v1alpha1.Healthy || o.Group != e.Group || o.Kind != e.Kind || o.Name != e.Name {
				continue
			}
			is := Shown{
				Object: v1alpha1.ReportedObject{Group: e.Group, Kind: e.Kind, Name: e.Name},
				Reason: health.Clean(o.Reason, maxReason), Message: health.Clean(o.Message, maxMessage), Evidence: e.Evidence,
			}
			is.Key = keyOf(wrapper, member, &is)
			all = append(all, is)
			break
		}
	}
	return all
}

// Key identifies what members show of one wrapper. It has ten hexadecimal digits.
type Key string

// keyOf returns the key of what a member shows of a wrapper. It leaves out the words of the log in the message. If it did not, a program
// that writes other words before each crash would make a new report each time.
func keyOf(wrapper *v1alpha1.WrapperIdentity, member string, s *Shown) Key {
	// The texts are clean, so they do not contain the separator.
	sum := sha256.Sum256([]byte(strings.Join([]string{string(wrapper.Kind), string(wrapper.UID), s.Object.Group, s.Object.Kind, s.Object.Name, s.Reason,
		cause.Normalize(member, health.WithoutLog(s.Message))}, "\x00")))
	return Key(hex.EncodeToString(sum[:])[:keyDigits])
}

// Name returns the name of the MemberReport with this key, for the wrapper with this name.
func Name(wrapper string, key Key) string {
	if limit := maxName - keyDigits - 1; len(wrapper) > limit {
		wrapper = strings.TrimRight(wrapper[:limit], ".-") // a label of a name ends with a letter or a digit
	}
	return wrapper + "." + string(key)
}

var suffix = regexp.MustCompile(`\.([0-9a-f]{10})$`)

// HasKey reports whether a name is one that Name returns for some wrapper. A MemberReport with a request has no such name.
func HasKey(name string) bool { return suffix.MatchString(name) }

// KeyIn returns the key in the name of a MemberReport. ok is false if the name is not one that Name returns for this wrapper.
func KeyIn(name, wrapper string) (key Key, ok bool) {
	found := suffix.FindStringSubmatch(name)
	if found == nil {
		return "", false
	}
	key = Key(found[1])
	return key, Name(wrapper, key) == name
}
