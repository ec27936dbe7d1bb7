// SPDX-License-Identifier: Apache-2.0

// Command pod is the program in the test pods of the end-to-end suite. Its image has nothing else.
//
//	pod serve        answers HTTP on port 8080 with the name of the pod
//	pod keep FILE    writes random data and its SHA-256 into FILE, unless FILE is there; checks it, and then serves both
//	pod done         ends well
//	pod crash        ends badly
//	pod eat          takes memory until the kernel ends it
package main
