// SPDX-License-Identifier: Apache-2.0

// Package strictjson reads the JSON of wrapped objects, and refuses values that would change on the way to a member.
//
// Integers of up to 64 bits stay integers. strictjson refuses a larger number: every API server reads it as a float, so
// another number would arrive than the author wrote. It refuses JSON that is nested too deep before a decoder recurses.
// Nulls finds the nulls that members may refuse.
package strictjson
