// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
)

const (
	// gap is the space between two columns.
	gap = 2
	// leastMessage is the width that a message needs beside the other columns. On a narrower terminal object and message stand below them.
	leastMessage = 30
)

// columns are the columns before the message.
var columns = []string{"LAST SEEN", "CLUSTER", "TYPE", "REASON", "OBJECT", "COUNT"}

// typeColumn is the position of TYPE, which is colored for a warning. objectColumn is that of OBJECT.
const typeColumn, objectColumn = 2, 4

// warning is the type of an event that tells of a failure.
const warning = "Warning"

// table writes rows under one header. It keeps the widths of the columns, so that the rows of a later call stand in the same columns.
type table struct {
	widths []int
}

// text returns the lines for the rows; "" if there are no rows. The first call with rows also returns the header, above them.
func (t *table) text(rows []row, now time.Time, to screen.Screen) string {
	if len(rows) == 0 {
		return ""
	}
	begins := t.widths == nil
	if begins {
		t.widths = make([]int, len(columns))
		t.widen(columns)
	}
	cells := make([][]string, len(rows))
	for i := range rows {
		cells[i] = cellsOf(&rows[i], now)
		t.widen(cells[i])
	}
	head := 0
	for _, width := range t.widths {
		head += width + gap
	}
	beside := to.Width == 0 || to.Width-head >= leastMessage
	p := &screen.Page{Screen: to}
	if begins {
		title := t.line(columns, beside, nil)
		if beside {
			title += "MESSAGE"
		}
		p.WriteString(p.Paint(screen.Bold, strings.TrimRight(title, " ")) + "\n")
	}
	for i := range rows {
		line := t.line(cells[i], beside, func(column int, text string) string {
			if column == typeColumn && rows[i].Type == warning {
				return p.Paint(screen.Yellow, text)
			}
			return text
		})
		if beside {
			p.AddAfter(line, head, head, rows[i].Message)
			continue
		}
		p.WriteString(strings.TrimRight(line, " ") + "\n")
		indent := t.widths[0] + gap
		p.Add("", strings.Repeat(" ", indent), indent, cells[i][objectColumn]+": "+rows[i].Message)
	}
	return p.String()
}

// widen makes the columns as wide as these cells need.
func (t *table) widen(cells []string) {
	for i, cell := range cells {
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
	}
}

// line pads the cells to the widths of the columns, and leaves out OBJECT if withObject is false. paint may be nil; it colors a cell
// without its padding.
func (t *table) line(cells []string, withObject bool, paint func(column int, text string) string) string {
	var b strings.Builder
	for i, cell := range cells {
		if i == objectColumn && !withObject {
			continue
		}
		padding := strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)+gap)
		if paint != nil {
			cell = paint(i, cell)
		}
		b.WriteString(cell + padding)
	}
	return b.String()
}

func cellsOf(r *row, now time.Time) []string {
	cluster := cmp.Or(r.Cluster, "host")
	if r.others > 0 {
		cluster += fmt.Sprintf(" +%d", r.others)
	}
	return []string{screen.Age(now, r.Seen), cluster, cmp.Or(r.Type, "-"), cmp.Or(r.Reason, "-"), r.Object.Kind + "/" + r.Object.Name, strconv.Itoa(int(r.Count))}
}
