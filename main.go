// ccc supervises Claude Code: an agent that wants to stop is sent back to work until a strict reviewer finds the
// work done. The manual is usage.txt, which --help prints. The first sentence of each file
// says what it promises; house_test.go lists them from the ground up.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run is main with the exit code returned.
func run(args []string) int {
	args = plainWords(args)
	switch {
	case len(args) == 0 || !isSubcommand(args[0]):
		return reportError(os.Stderr, startClaude(args))
	case args[0] == guardSubcommand:
		return guardReviewer(args[1:])
	case args[0] == tryInsideSubcommand:
		return tryInside(args[1:])
	case args[0] == hookSubcommand:
		return supervisorHook(args[1:])
	}
	return reportError(os.Stderr, runSubcommand(args[0], args[1:]))
}

// plainWords returns args with version or help in front where they ask for that, also behind --supervisor, in the
// way that every program is asked.
func plainWords(args []string) []string {
	for i, arg := range args {
		switch arg {
		case "--supervisor":
			continue
		case "--version", "-v", "version":
			return append([]string{"version"}, args[i+1:]...)
		case "--help", "-h", "help":
			return append([]string{"help"}, args[i+1:]...)
		}
		break
	}
	return args
}

func runSubcommand(name string, args []string) error {
	c, err := parseCall(name, args)
	switch {
	case err != nil:
		return err
	case c.has("--help") || c.has("-h"):
		fmt.Print(helpFor(name))
		return nil
	case name == "help":
		return help(c)
	case name == "version":
		fmt.Println("ccc", version())
		return nil
	}
	d, err := findDirs("")
	if err != nil {
		return err
	}
	speak(d)
	return map[string]func(*call, dirs) error{
		"demo": demo, "doctor": doctor, "log": showLog, "status": showStatus, "statusline": showStatusline,
		"supervisor-mode": supervisorMode, trySubcommand: try, "uninstall": uninstall, "verdict": showVerdict,
	}[name](c, d)
}

// help is ccc help [SUBCOMMAND].
func help(c *call) error {
	name := ""
	if len(c.operands) > 0 {
		name = c.operands[0]
		if synopsis(name) == "" {
			return usageError("help", "no subcommand %q (there are: %s)", name, strings.Join(subcommands(), ", "))
		}
	}
	fmt.Print(helpFor(name))
	return nil
}

// version is the module version that go install records, or what the source tree's revision is called.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
