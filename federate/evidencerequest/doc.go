// SPDX-License-Identifier: Apache-2.0

// Package evidencerequest has the rules for MemberReports with a request: a person asks one member for logs or events of one object of a
// wrapper.
//
// Check finds what keeps a request from being sent: the wrapper has to be in the report's namespace, list the object, and be placed on the
// member. So a person who may create reports in one namespace sees nothing of another. Expires bounds how long a report lasts. Assign turns
// the requests on one member into the lists that its Deliveries get. Reports that ask for the same type of evidence about the same object
// share one request. If there are too many requests, those of the oldest reports are sent.
package evidencerequest
