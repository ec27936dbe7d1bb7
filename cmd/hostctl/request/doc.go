// SPDX-License-Identifier: Apache-2.0

// Package request asks members for evidence about an object, healthy or not. For each object and member it creates a MemberReport
// with spec.request beside the wrapper, watches that report, and deletes it when the command ends.
//
// Until a request expires, it counts towards the limit of requests on its member, and the collector works for it. So hostctl deletes
// its requests however the command ends: after the answers, after an error, after an interrupt, and when the reader of a pipe has
// gone. A request that hostctl cannot delete expires by itself.
//
// The package needs only the rights to create, get, watch and delete MemberReports in the namespace of the wrapper's reports. It
// contacts no member. It makes the texts of answers safe to print, because members write them.
package request
