// SPDX-License-Identifier: Apache-2.0

// Package loopqueue lets a loop of controller-runtime add items to its own queue. A loop needs that for changes that its watches do not
// report: results of pushes, probes, and changes of Deliveries. Such changes can come before the loop starts. controller-runtime makes the
// queue only when the loop starts. The package also has the backoff of loops.
package loopqueue
