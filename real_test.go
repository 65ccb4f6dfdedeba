package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestRealClientLoop(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range realClients(t) {
		t.Run(client.version, func(t *testing.T) {
			api := newScriptedAPI(t, script{
				agent:    []apiReply{replyText("first answer"), replyText("second answer")},
				reviewer: []apiReply{replyVerdict(false, "add <tests> & 中文"), replyVerdict(true, "")},
			})
			box := newSandbox(t, api, client)
			box.vars = append(box.vars, testMainVariable+"=1")
			got := box.run(60*time.Second, "", self, "--supervisor", "-p", "hello")
			t.Logf("%+v", got)
			t.Log(api)
			t.Log(box.read(".claude/ccc/hook-invocation.log"))
			reviews := api.requests("review")
			for _, r := range reviews {
				t.Log(r.Kind, len(r.System), strings.HasPrefix(r.System, defaultPrompt[:100]), strings.Contains(r.System, defaultPrompt), r.Tools)
			}
			t.Log(box.run(time.Second, "", "/usr/bin/find", box.home, "-name", "*.json*").stdout)
		})
	}
}
