// SPDX-License-Identifier: Apache-2.0

// Package loopqueue lets a loop of controller-runtime add items to its own queue. A loop needs that for changes that its watches do not
// report: results of pushes, probes, and changes of Deliveries. Such changes also come before the loop starts, but controller-runtime
// makes the queue only at that time.
package loopqueue
