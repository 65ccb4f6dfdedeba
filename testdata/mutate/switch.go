package main

const switchFile = "mutant_switch.go"

// marker stands once in the test binary. Behind it is the number of the mutant that the binary is, in digits:
// so each process that a test starts is the same mutant, whatever its environment, user or root directory.
const marker = "@@MUTANT" + "-NUMBER@@"

const markerDigits = 8

// tracing is the number with which a binary is no mutant, but appends to traceFile the number of each that it
// meets.
const tracing = 99999999

// traceFile is in the sandbox of a run. It can't be written from a copy that ccc try makes.
const traceFile = "/dev/shm/mutants-met"

const switchSource = `
import (
	"os"
	"strconv"
	"sync/atomic"
)

var mutantNumber = func() int {
	n, _ := strconv.Atoi(mutantMarker[len(mutantMarker)-8:])
	return n
}()

var mutantMarker = "@@MUTANT-NUMBER@@00000000"

var mutantsMet [100000]atomic.Bool

func mutantOn(id int) bool {
	if mutantNumber == 99999999 && !mutantsMet[id].Swap(true) {
		if file, err := os.OpenFile("` + traceFile + `", os.O_APPEND|os.O_WRONLY, 0); err == nil {
			file.WriteString(strconv.Itoa(id) + "\n")
			file.Close()
		}
	}
	return mutantNumber == id
}
`
