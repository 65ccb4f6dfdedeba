package main

// The session that the pictures in docs/ show, for .ci/pictures. Claude Code, ccc, git and go are real.
// What the models say, how long they take and how many tokens they use is this script.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// pictured is what people and models say in the pictures of one language.
type pictured struct {
	suffix, locale, home, request, done, feedback, doneAgain string
	shop, bills, feeds, blog                                 string // requests of the other sessions
}

var picturedIn = []pictured{{
	suffix: "", locale: "en_US.UTF-8", home: "/home/ada",
	request: "Add --monthly to renew: go run . --monthly 2026-01-31 must print 2026-02-28. With a test.",
	done: "renew has `--monthly` now: one month instead of twelve. " +
		"TestNext covers it, `go test ./...` passes.",
	feedback: "`go run . --monthly 2026-01-31` prints 2026-03-03; the user asked for 2026-02-28. AddDate " +
		"in next (main.go:27) runs past the end of a shorter month, and TestNext only tries the 15th. Stop " +
		"at the last day of the month, add this example to TestNext, then run both and show their output.",
	doneAgain: "next stops at the end of a shorter month now: " +
		"`go run . --monthly 2026-01-31` prints 2026-02-28. " +
		"That example is in TestNext, and `go test ./...` passes.",
	shop: "Show delivery dates in the basket", bills: "Round each line of an invoice",
	feeds: "No panic on any of testdata/broken", blog: "Tag pages, linked from each post",
}, {
	suffix: "-cn", locale: "zh_CN.UTF-8", home: "/home/lin",
	request: "给 renew 加上 --monthly：go run . --monthly 2026-01-31 要输出 2026-02-28。要有测试。",
	done: "已给 renew 加上 `--monthly`，每次只推后一个月。" +
		"TestNext 测了它，`go test ./...` 通过。",
	feedback: "运行 `go run . --monthly 2026-01-31`，得到 2026-03-03，用户要的是 2026-02-28。" +
		"next（main.go:27）里的 AddDate 遇到天数少的月份会溢出到下个月，" +
		"而 TestNext 只试了 15 日。" +
		"让结果停在当月最后一天，把这个例子加进 TestNext，再运行两者，贴出输出。",
	doneAgain: "next 现在停在较短月份的月底：`go run . --monthly 2026-01-31` 输出 2026-02-28。" +
		"这个例子已加进 TestNext，`go test ./...` 通过。",
	shop: "购物车里显示送达日期", bills: "发票逐行取整，总额不变",
	feeds: "解析 testdata/broken 时不得 panic", blog: "生成标签页，并从每篇文章链接过去",
}}

// workedFor finds what Claude Code shows after the end of a turn, as in "Worked for 1m 28s".
var workedFor = lazyRegexp(` for \d+m `)

func TestPictures(t *testing.T) {
	dir := os.Getenv("CCC_PICTURES")
	if dir == "" {
		t.Skip("CCC_PICTURES, the directory for the screens, is not set")
	}
	for _, p := range picturedIn {
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
		"agent" + p.request: {read("main.go"), read("main_test.go"),
			edit("main.go", "\tflag.Parse()\n\tmonths := 12\n",
				"\tmonthly := flag.Bool(\"monthly\", false, \"renew every month, not every year\")\n"+
					"\tflag.Parse()\n\tmonths := 12\n\tif *monthly {\n\t\tmonths = 1\n\t}\n"),
			edit("main_test.go", example, example+also), bash("go test ./..."), replyText(p.done),
			edit("main.go", "return start.AddDate(0, months, 0)\n", "then := start.AddDate(0, months, 0)\n"+
				"\tif then.Day() != start.Day() { // that month is shorter\n"+
				"\t\tthen = then.AddDate(0, 0, -then.Day())\n\t}\n\treturn then\n"),
			edit("main_test.go", also, also+"\t\t{\"2026-01-31\", 1, \"2026-02-28\"},\n"),
			bash("go run . --monthly 2026-01-31 && go test ./..."), replyText(p.doneAgain)},
		"review" + p.request: slices.Concat(review(replyVerdict(false, p.feedback), 35, 17000, 41400, 1680),
			review(replyVerdict(true, ""), 28, 4700, 68900, 1130)),
		"review" + p.shop:  {bash(tryCommand() + " 'npm test -- basket'"), replyVerdict(true, "")},
		"review" + p.bills: {replyError(529, "overloaded_error", "Overloaded")},
		"review" + p.feeds: {replyVerdict(false, "testdata/broken/7.xml still panics")},
		"review" + p.blog:  {replyVerdict(true, "")},
	}
	said["review"+p.feeds][0].fresh, said["review"+p.blog][0].fresh = 20000, 24000
	return said
}

// play has the session played, and saves what is on the screen of it, and then of ccc log and status, in dir.
func (p pictured) play(t *testing.T, box *sandbox, dir string) {
	// The path of this home is as long as the one that is shown in its place, so that no line or column
	// moves.
	root := "/tmp/" + p.home[len(p.home)-2:]
	check(t, os.Mkdir(root, 0o700))
	t.Cleanup(func() { os.RemoveAll(root) })
	box.home, box.work = root+"/h", root+"/h/renew"
	check(t, os.CopyFS(box.work, os.DirFS("testdata/renew")))
	cache, _ := os.UserCacheDir()
	box.vars = append(box.vars, "HOME="+box.home, "LANG="+p.locale, "TZ=UTC",
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
		text = strings.ReplaceAll(text, box.home, p.home)
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	// draw saves the screen with colours, down to the rule, and returns it without colours.
	draw := func(name string) string {
		colored := tty.tmux("capture-pane", "-p", "-e").stdout
		plain := tty.tmux("capture-pane", "-p").stdout
		shown, _, _ := strings.Cut(plain, "\n"+rule)
		shown = strings.TrimRight(shown, "\n ")
		lines := strings.Split(colored, "\n")[:strings.Count(shown, "\n")+1]
		save(name+p.suffix+".ansi", strings.Join(lines, "\n"))
		return shown + "\n"
	}

	runs("ccc --supervisor")
	tty.waitUntil("an input line", func(screen string) bool { return inputLine(screen) != "" })
	tty.prompt(p.request) // before the machine is busy with others
	another("bills", p.bills)
	another("feeds", p.feeds)
	another("blog", p.blog, "claude", "-p", "--continue", "/supervisor off")
	tty.waitFor("2/10")
	tty.waitUntil("how long it has worked", workedFor().MatchString)
	expectEnd(t, "ccc verdict", box.run(3*time.Minute, "", "ccc", "verdict"), 0, "allow\n", "ccc")
	save("session"+p.suffix+".txt", draw("session"))
	others.Wait()
	another("shop", p.shop)
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
