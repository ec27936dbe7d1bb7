// SPDX-License-Identifier: Apache-2.0

// Package faults puts manager and collector through bad days, on real API servers, and compares what is left with a model.
//
// A life is one run of a program, from its start to its death. A point is one client call of a life, of whatever kind but
// those that come by the clock or by chance (watches, probes, discovery): the program is killed at it, before the call is
// sent or after it was answered and before the answer is seen. A history is what people did: before, while the program died,
// while it was dead. The model says, from the history alone, what members hold in the end.
//
// Why it is so: the calls are cut by a proxy, not by a fake client, so that what dies is the program as it is, with its
// caches, its queues and its connections; and the API servers go on undisturbed, as they do in life. Lives are told apart
// by their user agent: nothing that a dead one still sends reaches anybody. The model knows nothing of how it is done: a
// harness that computes what it expects the way the program does would agree with its mistakes.
package faults
