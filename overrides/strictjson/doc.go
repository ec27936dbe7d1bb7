// SPDX-License-Identifier: Apache-2.0

// Package strictjson decodes the JSON of a wrapper's objects. It refuses values that would be different when they arrive on a member.
//
// Integers of up to 64 bits stay integers. The package refuses larger ones: API servers read them as floats, so the member would get another number than
// the author wrote. It also refuses JSON that is nested too deep, before a recursive decoder reads it. Function Nulls finds
// nulls, which members may refuse.
package strictjson
