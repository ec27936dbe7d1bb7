// SPDX-License-Identifier: Apache-2.0

package health

import (
	"regexp"
	"strings"

	"github.com/fairlead-dev/fairlead/federate/redact"
)

// maxWords is the greatest length of the result of LastWords, in bytes. Together with the names of the object, the pod and the
// container it fits into a member's line in the status of a wrapper.
const maxWords = 160

// fromLog and fromTermination stand in a sentence before the words that a program wrote into its log or into its termination message.
const fromLog, fromTermination = "; from its log: ", "; from its termination message: "

// WithoutLog returns a message without the words of a program that Tell quotes in it, and without the text after them. A program can
// write other words before each crash. If they counted, each crash would look like another problem.
func WithoutLog(message string) string {
	message, _, _ = strings.Cut(message, fromLog)
	message, _, _ = strings.Cut(message, fromTermination)
	return message
}

// errorLine matches a line that names an error. The last lines of a log are often a stack trace, and the error stands above it.
var errorLine = regexp.MustCompile(`(?i)\b(panic|fatal|error|err|exception|fail(ed|ure)?|denied|refused|cannot|unable|invalid|missing|no such)\b|"level":"(error|fatal)"|^[EF]\d{4} `)

// stackLine matches a line of a stack trace, which explains nothing without the lines above.
var stackLine = regexp.MustCompile(`^\s+(at |\S+\.go:\d+)|^goroutine \d+ |^created by |^exit status \d+$|^\s+File "`)

// kubeletRefusals are the beginnings of the texts that a kubelet returns in place of a log that it no longer has.
var kubeletRefusals = []string{"unable to retrieve container logs for ", "failed to try resolving symlinks in path "}

// LastWords returns the line of a log that best explains why the program ended: the last one that names an error, or else the
// last one that is not part of a stack trace; "" if the log has no text. Secrets in it are redacted. The argument is the end of
// the log: some kibibytes, from the beginning of a line on.
func LastWords(log string) string {
	last := ""
	lines := strings.Split(LogText(log), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := lines[i]
		if Clean(line, maxWords) == "" || stackLine.MatchString(line) {
			continue
		}
		if errorLine.MatchString(line) {
			return Clean(line, maxWords)
		}
		if last == "" {
			last = Clean(line, maxWords)
		}
	}
	return last
}

// LogText redacts the end of a log, and removes escape sequences and invisible characters except line ends and tabs. It returns "" for
// a text that a kubelet returns in place of a log. The argument is the end of a log, as for LastWords. If it is longer than 16 KiB,
// LogText reads only the last 16 KiB.
func LogText(log string) string { return logText(log, maxUntidy) }

// LongLogText does the same as LogText, but reads the last 64 KiB. It is for a log that a person asks for.
func LongLogText(log string) string { return logText(log, 4*maxUntidy) }

func logText(log string, limit int) string {
	for _, refusal := range kubeletRefusals {
		if strings.HasPrefix(log, refusal) {
			return ""
		}
	}
	if len(log) > limit {
		_, log, _ = strings.Cut(log[len(log)-limit:], "\n")
	}
	// The text is redacted as a whole, because a secret such as a private key can have several lines.
	return Redact(log)
}

// Redact removes escape sequences and invisible characters except line ends and tabs, and then redacts the text. It does not cut the
// text, so the caller has to bound it.
func Redact(text string) string { return redact.Text(plain(text)) }

// maxUntidy is the number of bytes that Tidy and LogText read of a text from a member. It bounds the work of
// redact.Text.
const maxUntidy = 16 << 10

// Tidy redacts a text from a member, and cleans and cuts it to limit bytes. It redacts before it cuts, because a cut secret is harder to
// recognize.
func Tidy(text string, limit int) string {
	if len(text) > maxUntidy {
		text = text[:maxUntidy]
		text = text[:max(strings.LastIndexAny(text, " \n\t"), 0)] // no part of a word
	}
	return Clean(redact.Text(plain(text)), limit)
}

// escapeSequence matches a sequence that controls a terminal, for example its colors. A sequence between a key and its
// value would hide the secret from redact.Text.
var escapeSequence = regexp.MustCompile(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-_])`)

// plain returns valid UTF-8 without escape sequences and invisible characters, except for line ends and tabs.
func plain(text string) string {
	text = escapeSequence.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && IsHidden(r) {
			return -1
		}
		return r
	}, text)
}
