// renew prints the day on which a contract that begins on a day is renewed.
package main

import (
	"flag"
	"fmt"
	"log"
	"time"
)

func main() {
	flag.Parse()
	months := 12
	start, err := time.Parse(time.DateOnly, flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(next(start, months).Format(time.DateOnly))
}

// next returns the day that is so many months after start.
func next(start time.Time, months int) time.Time {
	return start.AddDate(0, months, 0)
}
