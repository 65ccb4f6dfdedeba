package main

// The session that the pictures in docs/ show, for .ci/pictures. Claude Code, ccc, git and go are real.
// What the models say, how long they take and how many tokens they use is this script.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// pictured is what people and models say in the pictures of one language; the last four are other requests.
type pictured struct {
	Suffix, Locale, Home, Request, Done, Feedback, DoneAgain, Shop, Bills, Feeds, Blog string
}

// workedFor finds what Claude Code shows after the end of a turn, as in "Worked for 1m 28s".
var workedFor = lazyRegexp(` for \d+m `)

func TestPictures(t *testing.T) {
	dir := os.Getenv("CCC_PICTURES")
	if dir == "" {
		t.Skip("CCC_PICTURES, the directory for the screens, is not set")
	}
	var languages []pictured
	check(t, json.Unmarshal([]byte(readPage(t, "testdata/pictures.json")), &languages))
	for _, p := range languages {
		forNewest(t, "", script{}, func(t *testing.T, box *sandbox, _ *scriptedAPI) {
			p.play(t, box, dir)
		})
	}
}

// replies are what the model answers, by the kind of the call and the request, the last one again and again.
func (p pictured) replies(box *sandbox) map[string][]apiReply {
	edit := func(name, before, after string) apiReply {
		input := map[string]any{"file_path": box.work + "/" + name, "old_string": before, "new_string": after}
		return replyTool("Edit", string(encodeJSON(input)))
	}
	read := func(name string) apiReply {
		return replyTool("Read", string(encodeJSON(map[string]any{"file_path": box.work + "/" + name})))
	}
	review := func(v apiReply, seconds, fresh, cached, out int) []apiReply {
		looks := []apiReply{bash("git diff"), bash(tryCommand() + " 'go run . --monthly 2026-01-31'"), v}
		for i := range looks {
			looks[i].takes = time.Duration(seconds) * time.Second / 3
			looks[i].fresh, looks[i].tokens, looks[i].out = fresh/3, cached/3, out/3
		}
		return looks
	}
	const example = "\t\t{\"2026-03-15\", 12, \"2027-03-15\"},\n"
	const also = "\t\t{\"2026-03-15\", 1, \"2026-04-15\"},\n"
	said := map[string][]apiReply{
		"agent" + p.Request: {read("main.go"), read("main_test.go"),
			edit("main.go", "\tflag.Parse()\n\tmonths := 12\n",
				"\tmonthly := flag.Bool(\"monthly\", false, \"renew every month, not every year\")\n"+
					"\tflag.Parse()\n\tmonths := 12\n\tif *monthly {\n\t\tmonths = 1\n\t}\n"),
			edit("main_test.go", example, example+also), bash("go test ./..."), replyText(p.Done),
			edit("main.go", "return start.AddDate(0, months, 0)\n", "then := start.AddDate(0, months, 0)\n"+
				"\tif then.Day() != start.Day() { // that month is shorter\n"+
				"\t\tthen = then.AddDate(0, 0, -then.Day())\n\t}\n\treturn then\n"),
			edit("main_test.go", also, also+"\t\t{\"2026-01-31\", 1, \"2026-02-28\"},\n"),
			bash("go run . --monthly 2026-01-31 && go test ./..."), replyText(p.DoneAgain)},
		"review" + p.Request: slices.Concat(review(replyVerdict(false, p.Feedback), 35, 17000, 41400, 1680),
			review(replyVerdict(true, ""), 28, 4700, 68900, 1130)),
		"review" + p.Shop:  {bash(tryCommand() + " 'npm test -- basket'"), replyVerdict(true, "")},
		"review" + p.Bills: {replyError(529, "overloaded_error", "Overloaded")},
		"review" + p.Feeds: {replyVerdict(false, "testdata/broken/7.xml still panics")},
		"review" + p.Blog:  {replyVerdict(true, "")},
	}
	said["review"+p.Feeds][0].fresh, said["review"+p.Blog][0].fresh = 20000, 24000
	return said
}

// play has the session played, and saves what is on the screen of it, and then of ccc log and status, in dir.
func (p pictured) play(t *testing.T, box *sandbox, dir string) {
	// The path of this home is as long as the one that is shown in its place, so that no line or column
	// moves.
	root := "/tmp/" + p.Home[len(p.Home)-2:]
	check(t, os.Mkdir(root, 0o700))
	t.Cleanup(func() { os.RemoveAll(root) })
	box.home, box.work = root+"/h", root+"/h/renew"
	check(t, os.CopyFS(box.work, os.DirFS("testdata/renew")))
	cache, _ := os.UserCacheDir()
	box.vars = append(box.vars, "HOME="+box.home, "LANG="+p.Locale, "TZ=UTC",
		"GOCACHE="+filepath.Join(cache, "go-build"), "GOFLAGS=-mod=mod")
	box.setSettings(`{"permissions":{"defaultMode":"acceptEdits","allow":["Bash(go *)"]}}`)
	box.repository()

	said := p.replies(box)
	var mu sync.Mutex
	box.answering(func(r apiRequest) apiReply {
		mu.Lock()
		defer mu.Unlock()
		for key, replies := range said {
			if request, is := strings.CutPrefix(key, r.Kind); is && strings.Contains(r.text(), request) {
				said[key] = replies[min(1, len(replies)-1):]
				return replies[0]
			}
		}
		return replyText("done")
	})

	var others sync.WaitGroup
	another := func(project, request string, then ...string) {
		there := *box
		there.work = filepath.Join(box.home, project)
		check(t, os.MkdirAll(there.work, 0o700))
		box.write(project+"/package.json", 0o600, `{"scripts":{"test":"sleep 20 #"}}`)
		others.Add(1)
		go func() {
			defer others.Done()
			there.run(5*time.Minute, "", "ccc", "--supervisor", "-p", request)
			if then != nil {
				there.run(time.Minute, "", then...)
			}
		}()
	}
	tty := box.terminal("sleep", "1000")
	tty.tmux("resize-window", "-x", "120", "-y", "100")
	runs := func(command string) { tty.tmux("respawn-pane", "-k", "-c", box.work, command) }
	const rule = "────────" // above the input line, and below what a command prints
	save := func(name, text string) {
		text = strings.ReplaceAll(text, box.home, p.Home)
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	// draw saves the screen with colours, down to the rule, and returns it without colours.
	draw := func(name string) string {
		colored := tty.tmux("capture-pane", "-p", "-e").stdout
		plain := tty.tmux("capture-pane", "-p").stdout
		shown, _, _ := strings.Cut(plain, "\n"+rule)
		shown = strings.TrimRight(shown, "\n ")
		lines := strings.Split(colored, "\n")[:strings.Count(shown, "\n")+1]
		save(name+p.Suffix+".ansi", strings.Join(lines, "\n"))
		return shown + "\n"
	}

	runs("ccc --supervisor")
	tty.waitUntil("an input line", func(screen string) bool { return inputLine(screen) != "" })
	tty.prompt(p.Request) // before the machine is busy with others
	another("bills", p.Bills)
	another("feeds", p.Feeds)
	another("blog", p.Blog, "claude", "-p", "--continue", "/supervisor off")
	tty.waitFor("2/10")
	tty.waitUntil("how long it has worked", workedFor().MatchString)
	expectEnd(t, "ccc verdict", box.run(3*time.Minute, "", "ccc", "verdict"), 0, "allow\n", "ccc")
	save("session"+p.Suffix+".txt", draw("session"))
	others.Wait()
	another("shop", p.Shop)
	for _, view := range []string{"log", "status"} {
		if view == "status" {
			tty.waitUntil("a review that runs", func(string) bool {
				return strings.Contains(box.ccc("status", "--json"), "npm test -- basket")
			})
		}
		runs("ccc " + view + "; echo " + rule + "; sleep 1000")
		tty.waitFor(rule)
		draw(view)
	}
	others.Wait()
}
