// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// maxRead is the number of bytes that Normalize reads of a message. The schema allows 256, so it reads every valid message whole.
	maxRead = 1024
	// maxCompared is the number of bytes that Normalize keeps of a message that was cut. The place of the cut depends on the parts that
	// differ between the members, so the last words of two such messages may differ without a reason.
	maxCompared = 160
	// replaced stands for each part that differs between members. It has one byte, so that a text never becomes longer.
	replaced = "#"
	// ellipsis ends a message that the manager or the collector cut.
	ellipsis = "…"
)

// around has the characters that may stand before or after a word without belonging to it.
const around = "()[]{}<>\"'`,;:.!?=„“”"

var (
	// number matches a word that is a number: a count, a size, a duration, a fraction, or the dates and times of logs. It does not match
	// a version such as 1.2.4.
	number = regexp.MustCompile(`^[-+]?(\d+([:/-]\d+)*([.,]\d+)?(%|[numKMGTPE]i?B?|[nµum]?s|h|d)?)+$`)
	// hexadecimal matches a word that is a hexadecimal number.
	hexadecimal = regexp.MustCompile(`^(?i)0x[0-9a-f]+$`)
	// klog matches the first word of a line that Kubernetes' components write into their logs: the severity and the date.
	klog = regexp.MustCompile(`^[IWEF]\d{4}$`)

	// ordinal matches the end of the name of a StatefulSet's pod.
	ordinal = regexp.MustCompile(`-\d+$`)

	// parts match a part of a word that differs between clusters.
	parts = []*regexp.Regexp{
		// a time of RFC 3339, or an ISO date
		regexp.MustCompile(`\d{4}-\d{2}-\d{2}([T_]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[-+]\d{2}:?\d{2})?)?`),
		// a uid
		regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`),
		// an address of IPv4 or, in brackets, of IPv6, with a port
		regexp.MustCompile(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(:\d+|/\d+)?\b`),
		regexp.MustCompile(`(?i)\[[0-9a-f]*:[0-9a-f:.]+\](:\d+)?`),
		// an address in memory, or a hexadecimal id; a short one such as code=0x1 may be a code
		regexp.MustCompile(`(?i)\b0x[0-9a-f]{4,}\b`),
		// the hashes in the name of a Deployment's pod, of a ReplicaSet, and of a pod; API servers use only these characters
		regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b`),
		regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b`),
		regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`),
		// the minute in the name of a CronJob's Job
		regexp.MustCompile(`-\d{6,}\b`),
	}
)

// Normalize replaces what differs between the messages of members that have the same cause. The result is only compared, and never
// shown. It is at most as long as the message, and normalizing it again changes nothing. The parameter member is the name of the
// member, or "" if all messages are of one member.
//
// A number after the word "code" stays, because different exit codes have different causes. Numbers inside words stay, because different
// versions of an image may have different causes, too.
func Normalize(member, message string) string {
	message = strings.ToValidUTF8(message[:min(len(message), maxRead)], "")
	text := strings.Join(strings.Fields(message), " ")
	shortened, wasCut := strings.CutSuffix(text, ellipsis)
	if wasCut {
		text = strings.TrimRight(shortened, ellipsis+" ")
	}
	for { // the loop ends: each pass that changes the text leaves fewer characters that are not replaced
		next := replaceWords(member, text)
		if next == text {
			break
		}
		text = next
	}
	if wasCut && len(text) > maxCompared {
		if end := strings.LastIndexByte(text[:maxCompared], ' '); end > 0 {
			text = strings.TrimRight(text[:end], ellipsis+" ")
		}
	}
	return text
}

func replaceWords(member, text string) string {
	words := strings.Split(text, " ")
	before := ""
	for i, word := range words {
		words[i] = replaceWord(member, before, word)
		before = words[i]
	}
	return strings.Join(words, " ")
}

func replaceWord(member, before, word string) string {
	core := strings.Trim(word, around)
	if core == "" {
		return word
	}
	before = strings.Trim(before, around)
	switch {
	case strings.EqualFold(before, "code") && hexadecimal.MatchString(core):
		return word
	case number.MatchString(core) || klog.MatchString(core):
		if strings.EqualFold(before, "code") {
			return word
		}
		return strings.Replace(word, core, replaced, 1)
	case strings.EqualFold(before, "node"):
		return strings.Replace(word, core, replaced, 1)
	}
	word = replaceName(word, member)
	for _, part := range parts {
		word = part.ReplaceAllLiteralString(word, replaced)
	}
	// The ordinal comes last, because the hash in the name of a Deployment's pod may have only digits.
	if core = strings.Trim(word, around); strings.EqualFold(before, "pod") {
		word = strings.Replace(word, core, ordinal.ReplaceAllLiteralString(core, replaced), 1)
	}
	return word
}

// replaceName replaces the name of the member, except inside a longer run of letters and digits.
func replaceName(word, name string) string {
	if name == "" || strings.Contains(name, replaced) || !utf8.ValidString(name) {
		return word
	}
	for from := 0; ; {
		i := strings.Index(word[from:], name)
		if i < 0 {
			return word
		}
		i += from
		if end := i + len(name); (i == 0 || !isAlphanumeric(word[i-1])) && (end == len(word) || !isAlphanumeric(word[end])) {
			word = word[:i] + replaced + word[end:]
		}
		from = i + 1
	}
}

func isAlphanumeric(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}
