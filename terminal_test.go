package main

// Terminals: tmux for the real client, and a pseudo-terminal.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// terminal starts argv, each word quoted for the shell, in the working directory. At the end of the test the
// tmux server is killed, and the sandbox then proves that nothing is left of it.
func (box *sandbox) terminal(argv ...string) *terminal {
	box.t.Helper()
	tty := &terminal{box, filepath.Join(filepath.Dir(box.home), "tmux")}
	args := []string{"-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", "-c", box.work, "--"}
	args = append(args, argv...)
	// The pane outlives its command, so that its last words can be read.
	args = append(args, ";", "set-option", "-g", "remain-on-exit", "on",
		";", "set-option", "-g", "status", "off")
	box.t.Cleanup(tty.close)
	if out := tty.tmux(args...); out.code != 0 {
		box.t.Fatalf("tmux: %+v", out)
	}
	return tty
}

// close kills the tmux server. A claude that outlives its terminal is ended, and that is logged: it is Claude
// Code's own fault (seen once in some hundred runs), while anything of ccc's that is left fails the test.
func (tty *terminal) close() {
	if tty.box.t.Failed() {
		tty.box.t.Logf("the screen:\n%s", strings.TrimSpace(tty.screen()))
	}
	panes := strings.Fields(tty.tmux("list-panes", "-a", "-F", "#{pane_pid}").stdout)
	tty.tmux("kill-server")
	isClient := func(process string) bool {
		fields := strings.Fields(process)
		return slices.Contains(panes, fields[0]) && len(fields) > 1 && filepath.Base(fields[1]) == "claude"
	}
	for _, left := range tty.box.gone(10*time.Second, isClient) {
		pid, _ := strconv.Atoi(strings.Fields(left)[0])
		tty.box.t.Logf("outlives its terminal: %s", left)
		check(tty.box.t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// tmux runs one tmux command on the private socket.
func (tty *terminal) tmux(args ...string) commandResult {
	tty.box.t.Helper()
	return tty.box.run(10*time.Second, "", append([]string{"tmux", "-S", tty.socket}, args...)...)
}

// keys presses keys by their tmux names: "Enter", "Escape", "C-c", "Down".
func (tty *terminal) keys(names ...string) {
	tty.box.t.Helper()
	if out := tty.tmux(append([]string{"send-keys"}, names...)...); out.code != 0 {
		tty.box.t.Fatalf("tmux send-keys %q: %+v", names, out)
	}
}

// prompt submits text once the client is idle.
func (tty *terminal) prompt(text string) {
	tty.box.t.Helper()
	tty.waitUntil("an idle client", isIdle)
	tty.enter(text)
	// Where a menu has taken the place of the input line, the last line with its mark is the prompt as it was
	// sent: another Enter would answer the menu.
	isSent := func(screen string) bool {
		return menuEntry().MatchString(screen) || !strings.HasPrefix(inputLine(screen), "❯ "+text)
	}
	// A client that is still starting drops an Enter, and a slow one takes a second for another prompt.
	for range 5 {
		if tty.shows(10*time.Second, isSent) {
			return
		}
		tty.keys("Enter")
	}
}

// menuEntry finds the marked entry of a menu.
var menuEntry = lazyRegexp(`(?m)^[ \x{a0}│]+❯[ \x{a0}]\d\.`)

// enter types text into the input line, and presses Enter once it stands there alone: in the same burst it
// would count as a pasted newline. What a starting client has dropped, or what the line held before, is
// deleted and typed again.
func (tty *terminal) enter(text string) {
	tty.box.t.Helper()
	for patience := 2 * time.Second; patience < 90*time.Second; patience *= 2 {
		tty.keys("-l", "--", text)
		isTyped := func(screen string) bool { return strings.HasPrefix(inputLine(screen), "❯ "+text) }
		if tty.shows(patience, isTyped) {
			tty.keys("Enter")
			return
		}
		tty.keys("C-e")
		tty.keys("-N", strconv.Itoa(80+len(text)), "BSpace")
		tty.shows(patience, func(screen string) bool { return !strings.Contains(inputLine(screen), text) })
	}
	tty.box.t.Fatalf("%q can't be typed:\n%s", text, tty.screen())
}

// inputLine returns the line of Claude Code's screen that takes the prompt, the last one that begins with its
// mark, or "".
func inputLine(screen string) string {
	for _, line := range slices.Backward(strings.Split(screen, "\n")) {
		if strings.HasPrefix(line, "❯") {
			return strings.ReplaceAll(line, "\u00a0", " ")
		}
	}
	return ""
}

// screen returns what the terminal shows, with wrapped lines joined.
func (tty *terminal) screen() string {
	tty.box.t.Helper()
	return tty.tmux("capture-pane", "-p", "-J").stdout
}

// patience is how long a test waits for what a real client does: one that other load slows down is no fault.
const patience = 4 * time.Minute

// waitFor waits until the screen contains text, wherever claude broke its lines.
func (tty *terminal) waitFor(text string) {
	tty.box.t.Helper()
	isThere := func(screen string) bool { return strings.Contains(unspaced(screen), unspaced(text)) }
	tty.waitUntil(text, isThere)
}

// waitUntil is waitFor for what is more than a text.
func (tty *terminal) waitUntil(what string, there func(screen string) bool) {
	tty.box.t.Helper()
	if !tty.shows(patience, there) {
		tty.box.t.Fatalf("no %q on the screen after %v:\n%s", what, patience, tty.screen())
	}
}

// shows waits until there finds what it looks for on the screen, and tells whether it did before timeout. A
// look costs 5 ms of a processor, and many tests on the real client wait beside each other.
func (tty *terminal) shows(timeout time.Duration, there func(screen string) bool) bool {
	pause := 100 * time.Millisecond
	for deadline := time.Now().Add(timeout); !there(tty.screen()); time.Sleep(pause) {
		if time.Now().After(deadline) {
			return false
		}
		pause = min(2*pause, time.Second/2)
	}
	return true
}

// pressUntil presses key until there finds what it looks for, each time after a change below the last rule.
func (tty *terminal) pressUntil(key, what string, there func(screen string) bool) {
	tty.box.t.Helper()
	below := func(screen string) string { return screen[max(0, strings.LastIndex(screen, "────")):] }
	for range 10 {
		before := tty.screen()
		if there(before) {
			return
		}
		tty.keys(key)
		tty.shows(20*time.Second, func(s string) bool { return there(s) || below(s) != below(before) })
	}
	tty.box.t.Fatalf("%s brings no %q:\n%s", key, what, tty.screen())
}

// choose takes what is marked in the menu that shows text. A menu that has just come drops an Enter, as a
// starting client does.
func (tty *terminal) choose(text string) {
	tty.box.t.Helper()
	tty.waitFor(text)
	for range 5 {
		tty.keys("Enter")
		if tty.shows(10*time.Second, func(screen string) bool { return !strings.Contains(screen, text) }) {
			return
		}
	}
}

// rewind takes the last prompt back, which then comes to the input line, some time after the menu is gone.
func (tty *terminal) rewind(prompt string) {
	tty.box.t.Helper()
	menu := func(screen string) bool { return strings.Contains(screen, "Restore the code") }
	for tries := 0; !menu(tty.screen()); tries++ {
		if tries == 5 {
			tty.box.t.Fatalf("Esc Esc shows no menu:\n%s", tty.screen())
		}
		tty.keys("Escape")
		time.Sleep(150 * time.Millisecond)
		tty.keys("Escape")
		tty.shows(10*time.Second, menu)
	}
	tty.keys("Up")
	time.Sleep(500 * time.Millisecond)
	tty.keys("Enter")
	tty.choose("Restore conversation")
	isBack := func(screen string) bool { return strings.HasPrefix(inputLine(screen), "❯ "+prompt) }
	tty.shows(5*time.Second, isBack)
}

// openTerminal opens a pseudo-terminal, on Linux: the side of whoever types, and the other.
func openTerminal(t *testing.T, columns uint16) (master, terminal *os.File) {
	t.Helper()
	const tiocgptn, tiocsptlck = 0x80045430, 0x40045431
	if runtime.GOOS != "linux" {
		t.Skip("the numbers that open a terminal are Linux's")
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	var number, lock uint32
	size := [4]uint16{24, columns}
	for request, argument := range map[uintptr]unsafe.Pointer{
		tiocgptn:           unsafe.Pointer(&number),
		tiocsptlck:         unsafe.Pointer(&lock),
		syscall.TIOCSWINSZ: unsafe.Pointer(&size),
	} {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(argument))
		if errno != 0 {
			t.Fatal(errno)
		}
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	check(t, err)
	t.Cleanup(func() { terminal.Close() })
	return master, terminal
}

// onTerminal runs cmd on a terminal of so many columns and returns what it writes there.
func onTerminal(t *testing.T, cmd *exec.Cmd, columns uint16) string {
	t.Helper()
	master, terminal := openTerminal(t, columns)
	cmd.Stdout = terminal
	check(t, cmd.Start())
	terminal.Close()
	var output bytes.Buffer
	output.ReadFrom(master) // ends with an error when the last writer has closed
	cmd.Wait()
	return output.String()
}
