// ccc supervises Claude Code: an agent that wants to stop is sent back to work until a strict reviewer finds the
// work done. The manual is usage.txt, which --help prints and README.md quotes. The first sentence of each file
// says what it promises; house_test.go lists them from the ground up.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run is main with the exit code returned.
func run(args []string) int {
	switch {
	case len(args) == 0 || !isSubcommand(args[0]):
		return reportError(os.Stderr, startClaude(args))
	case args[0] == guardSubcommand:
		return guardReviewer(args[1:])
	case args[0] == hookSubcommand:
		return supervisorHook(args[1:])
	}
	return reportError(os.Stderr, runSubcommand(args[0], args[1:]))
}

func runSubcommand(name string, args []string) error {
	c, err := parseCall(name, args)
	if err != nil {
		return err
	}
	d, err := findDirs("")
	switch {
	case c.has("--help") || c.has("-h") || name == "--help":
		fmt.Print(usage)
		return nil
	case name == "--version":
		fmt.Println("ccc", version())
		return nil
	case err != nil:
		return err
	}
	return map[string]func(*call, dirs) error{
		"demo": demo, "doctor": doctor, "log": showLog, "status": showStatus, "statusline": showStatusline,
		"supervisor-mode": supervisorMode, "uninstall": uninstall,
	}[name](c, d)
}

// version is the module version that go install records, or what the source tree's revision is called.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
