// SPDX-License-Identifier: Apache-2.0

// Package loopqueue lets a loop of controller-runtime add items to its own queue, for everything that is no event of a watch: results of
// pushes, probes, and changes of Deliveries. controller-runtime makes the queue only when the loop starts, and these events come before that, too.
package loopqueue
