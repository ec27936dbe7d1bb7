// SPDX-License-Identifier: Apache-2.0

// Package evidencerequest is the loop of the MemberReports with a request: a person asks one member for logs or events of an object.
//
// A request passes through these files:
//
//  1. controller.go reads the report once, checks it by the rules of package federate/evidencerequest, and deletes it when it expires.
//  2. pairs.go turns the reports into the requests of each Delivery, and gives them to package push, which writes them. pairs.go also reads
//     the members' answers from the Deliveries.
//  3. write.go writes the answer, or why there is none, into the status of the report.
//
// The loop stores nothing except in the reports. After a restart it reads each report, and sets the requests again. Package push then
// writes the requests even if the Delivery has them already: that write changes nothing, but the API server's response has the answers that
// the collector wrote meanwhile.
//
// The reports of package memberreport have names that no report with a request may have, so the loop recognizes them by their metadata
// and does not read them. If no report has a request, the loop sends nothing.
package evidencerequest
