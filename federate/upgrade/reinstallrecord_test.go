// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

func TestSettledRecordsAreDroppedAfterAnHour(t *testing.T) {
	settled := func(ago time.Duration) upgrade.Begun {
		b := *begun(ago)
		b.Ended, b.Settled = &b.At, true
		return b
	}
	unsettled := settled(2 * time.Hour)
	unsettled.Settled = false
	before := upgrade.Records{"old": settled(2 * time.Hour), "recent": settled(time.Minute), "open": *begun(2 * time.Hour), "ill": unsettled}
	after := before.With(upgrade.Records{"new": *begun(0), "recent": *begun(0)}, now)
	if diff := cmp.Diff([]string{"ill", "new", "open", "recent"}, slices.Sorted(maps.Keys(after))); diff != "" {
		t.Error(diff)
	}
	if after["recent"].Settled || !before["recent"].Settled {
		t.Error("the change is missing, or it has changed the records of before")
	}
	if one := upgrade.Records(nil).With(upgrade.Records{"new": *begun(0)}, now); len(one) != 1 {
		t.Errorf("got %v", one)
	}
}

func TestNoRecordIsWrittenThatCouldNotBeRead(t *testing.T) {
	all := make(upgrade.Records)
	var last string
	for i := range 1000 {
		text, err := all.Text()
		if err != nil {
			if _, tooLong := upgrade.ParseRecords(last); tooLong != nil || !strings.Contains(err.Error(), "more than 65536 bytes") {
				t.Errorf("%v; the record before: %v", err, tooLong)
			}
			return
		}
		last = text
		all[fmt.Sprint("db-", i)] = *begun(0)
	}
	t.Error("no limit")
}
