package main

import (
	"os"
	"testing"
)

// testMainVariable turns the test binary into ccc: a test that starts it with
// this variable set drives the real program, through its exit.
const testMainVariable = "CCC_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(testMainVariable) == "1" {
		main()
	}
	os.Exit(m.Run())
}
