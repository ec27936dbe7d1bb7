// SPDX-License-Identifier: Apache-2.0

// Command pod is the program of the end-to-end suite's test pods. Its image contains only this program.
//
//	pod serve        answers HTTP on port 8080 with the name of the pod
//	pod keep FILE    writes random data and its SHA-256 into FILE, unless FILE exists; checks the data, and then serves the digest
//	pod done         ends with exit code 0
//	pod crash        ends with an error
//	pod eat          allocates memory until the kernel kills the program
package main
