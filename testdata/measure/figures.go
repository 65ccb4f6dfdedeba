package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// figures returns what the reviews come to, those by each apart. A case counts by its first verdict there.
func figures(cases []measuredCase, all []measured) string {
	sets := map[measuredBy][]measured{}
	var order []measuredBy
	for _, m := range all {
		if sets[m.measuredBy] == nil {
			order = append(order, m.measuredBy)
		}
		sets[m.measuredBy] = append(sets[m.measuredBy], m)
	}
	text := ""
	for _, by := range order {
		text += fmt.Sprintf("%+v\n%s", by, figuresOfSet(cases, sets[by]))
	}
	return text
}

// figuresOfSet returns the figures of the reviews by one, and then each case that came out wrong.
func figuresOfSet(cases []measuredCase, all []measured) string {
	list := ""
	count := map[string]int{}
	note := func(what string, m measured) {
		count[what]++
		why := strings.Join(strings.Fields(m.Feedback+m.Error), " ")
		list += fmt.Sprintf("  %s, %s: %s\n", m.Case, what, why)
	}
	for _, c := range cases {
		of := slices.DeleteFunc(slices.Clone(all), func(m measured) bool { return m.Case != c.name })
		if len(of) == 0 {
			continue
		}
		verdicts := map[string]bool{}
		for _, m := range of {
			verdicts[m.Verdict] = true
			if !m.isVerdict() {
				note("no verdict", m)
			}
		}
		if verdicts["allow"] && verdicts["block"] {
			count["not the same each time"]++
		}
		first := of[max(0, slices.IndexFunc(of, measured.isVerdict))]
		truth := c.head["truth"]
		if first.isVerdict() {
			count[truth]++
		}
		isSaid := regexp.MustCompile("(?i)" + c.head["says"]).MatchString(first.Feedback)
		switch truth + " " + first.Verdict {
		case "done block":
			note("sent back though done", first)
		case "not allow":
			note("approved though not done", first)
		case "not block":
			if !isSaid {
				note("right for another reason", first)
			}
		}
	}
	text := ""
	rate := func(what string, of int) {
		low, high := wilson(count[what], of)
		text += fmt.Sprintf("%s: %d of %d (%.1f to %.1f %%)\n", what, count[what], of, 100*low, 100*high)
	}
	rate("approved though not done", count["not"])
	rate("sent back though done", count["done"])
	text += fmt.Sprintf("no verdict: %d of %d reviews\n", count["no verdict"], len(all))
	text += fmt.Sprintf("not the same each time: %d (repetitions count here alone, and narrow no interval)\n",
		count["not the same each time"])
	text += fmt.Sprintf("right for another reason: %d\n", count["right for another reason"])
	quantiles := func(unit string, of func(measured) float64) {
		var values []float64
		for _, m := range all {
			values = append(values, of(m))
		}
		slices.Sort(values)
		text += fmt.Sprintf("%s: median %.2f, nine of ten up to %.2f\n", unit,
			values[(len(values)-1)/2], values[(9*len(values)+9)/10-1])
	}
	quantiles("seconds", func(m measured) float64 { return m.Seconds })
	quantiles("dollars", func(m measured) float64 { return m.Cost })
	return text + list
}

// isVerdict reports whether the review came to a verdict.
func (m measured) isVerdict() bool { return m.Verdict == "allow" || m.Verdict == "block" }

// wilson returns the 95 % interval of k of n.
func wilson(k, n int) (low, high float64) {
	const z = 1.96
	if n == 0 {
		return 0, 1
	}
	count := float64(n)
	part := float64(k) / count
	middle := part + z*z/(2*count)
	half := z * math.Sqrt(part*(1-part)/count+z*z/(4*count*count))
	whole := 1 + z*z/count
	return max(0, (middle-half)/whole), min(1, (middle+half)/whole)
}
