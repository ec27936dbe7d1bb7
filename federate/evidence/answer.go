// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

// The limits of answers. The schema of a Delivery has the first two, too.
const (
	// MaxAnswers is the greatest number of requests of a Delivery, and of answers.
	MaxAnswers = 4
	// MaxAnswerLogs bounds all logs of an answer, in bytes.
	MaxAnswerLogs = 32 << 10
	// MaxAllAnswers bounds all answers of a Delivery, in bytes.
	MaxAllAnswers = 64 << 10
)

// Answer makes the evidence for which a person asks: the events about an object, or the logs of its containers.
func Answer(events []Event, containers []Container) v1alpha1.Evidence {
	e := v1alpha1.Evidence{Events: fold(events), Containers: observed(containers, logLimits{one: MaxAnswerLogs, all: MaxAnswerLogs, text: health.LongLogText})}
	shrink(&e, MaxAllAnswers)
	return e
}

// RawLog returns how many bytes of each log the collector reads for an answer with this number of containers. It is about twice what the
// answer has room for, because redaction and cleaning make a log shorter.
func RawLog(containers int) int {
	return min(MaxAnswerLogs, max(2*MaxAnswerLogs/max(containers, 1), 2*maxLog))
}

// BoundAnswers returns the answers, cut to 64 KiB together. It goes through them in order: it divides the bytes that are left by the
// number of answers that are left, and cuts the next answer to the result. BoundAnswers does not change the argument.
func BoundAnswers(answers []v1alpha1.EvidenceAnswer) []v1alpha1.EvidenceAnswer {
	answers = answers[:min(len(answers), MaxAnswers)]
	var kept []v1alpha1.EvidenceAnswer
	left := MaxAllAnswers
	for i := range answers {
		a := answers[i]
		rest := sizeOf(&v1alpha1.EvidenceAnswer{Request: a.Request, Message: a.Message}) + 1
		shrink(&a.Evidence, left/(len(answers)-i)-rest)
		kept = append(kept, a)
		left -= sizeOf(&a) + 1
	}
	return kept
}
