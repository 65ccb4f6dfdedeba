package main

// The reviewer's model on the real Claude Code, compared with the agent's where both ask the API.

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// modelScript has the agent stop at once and the reviewer approve.
func modelScript() script {
	return script{agent: []apiReply{replyText("the answer")}, reviewer: []apiReply{replyVerdict(true, "")}}
}

// asked is what tells one model from another at the API: its name and the beta headers that come with it. Left out are
// those of a permission mode (plan, auto) and of a terminal (how thinking is shown), which a reviewer does not have.
func (r apiRequest) asked() string {
	betas := strings.Split(r.header("Anthropic-Beta"), ",")
	slices.Sort(betas)
	others := regexp.MustCompile("^(afk-mode|dangerous-tool-use|redact-thinking)-")
	return r.Model + " " + strings.Join(slices.DeleteFunc(betas, others.MatchString), ",")
}

// expectSameModel wants n reviews, each with the model of the agent's request before it.
func (api *scriptedAPI) expectSameModel(t *testing.T, n int) {
	t.Helper()
	agents, reviews := "", 0
	for _, r := range api.requests("") {
		switch r.Kind {
		case "agent":
			agents = r.asked()
		case "review":
			reviews++
			if r.asked() != agents {
				t.Errorf("the reviewer has\n%s, the agent\n%s", r.asked(), agents)
			}
		}
	}
	expectIs(t, "the reviews", reviews, n)
	t.Logf("the agent has %s", agents)
}

// The reviewer has the session's model, and its long context, by whichever way the session has them.
func TestRealClientModel(t *testing.T) {
	beside(t)
	const opus, sonnet = "ANTHROPIC_DEFAULT_OPUS_MODEL=glm-5 ", "ANTHROPIC_DEFAULT_SONNET_MODEL=glm-4.7 "
	const three = opus + sonnet + "ANTHROPIC_DEFAULT_HAIKU_MODEL=glm-4.5-air"
	const ofThree = `"ANTHROPIC_DEFAULT_OPUS_MODEL":"glm-5","ANTHROPIC_DEFAULT_SONNET_MODEL":"glm-4.7"`
	for _, test := range []struct {
		name, args, env, settings, file, provider string
	}{
		{name: "default"},
		{name: "flag_name", args: "--model claude-sonnet-4-5"},
		{name: "flag_name_1m", args: "--model claude-sonnet-4-5[1m]"},
		{name: "flag_alias", args: "--model haiku"},
		{name: "flag_alias_1m", args: "--model sonnet[1m]"},
		{name: "flag_unknown", args: "--model glm-4.6"},
		{name: "flag_unknown_1m", args: "--model glm-4.6[1m]"},
		{name: "variable_name", env: "ANTHROPIC_MODEL=glm-4.6"},
		{name: "variable_name_1m", env: "ANTHROPIC_MODEL=glm-4.6[1m]"},
		{name: "variable_alias_1m", env: "ANTHROPIC_MODEL=opus[1m]"},
		{name: "variable_and_flag", env: "ANTHROPIC_MODEL=glm-4.6", args: "--model opus"},
		{name: "mapped_default", env: three},
		{name: "mapped_flag", env: three, args: "--model sonnet"},
		{name: "mapped_flag_1m", env: three, args: "--model sonnet[1m]"},
		{name: "mapped_1m_flag", env: "ANTHROPIC_DEFAULT_SONNET_MODEL=glm-4.7[1m]", args: "--model sonnet"},
		{name: "mapped_variable", env: three + " ANTHROPIC_MODEL=haiku"},
		{name: "one_mapped_flag", env: sonnet, args: "--model sonnet"},
		{name: "one_mapped_other_flag", env: sonnet, args: "--model haiku"},
		{name: "settings_name_1m", settings: `{"model":"glm-4.6[1m]"}`},
		{name: "settings_alias", env: three, settings: `{"model":"sonnet"}`},
		{name: "settings_alias_1m", settings: `{"model":"opus[1m]"}`},
		{name: "settings_variables", settings: `{"model":"sonnet","env":{` + ofThree + `}}`},
		{name: "file_name", file: `{"model":"glm-4.6"}`},
		{name: "file_alias", env: three, file: `{"model":"sonnet"}`},
		{name: "file_alias_1m", file: `{"model":"opus[1m]"}`},
		{name: "file_variables", file: `{"model":"sonnet","env":{` + ofThree + `}}`},
		{name: "provider_name", provider: `"ANTHROPIC_MODEL":"kimi-k2.5"`},
		{name: "provider_name_1m", provider: `"ANTHROPIC_MODEL":"kimi-k2.5[1m]"`},
		{name: "provider_mapped_flag", provider: ofThree, args: "--model sonnet"},
		{name: "agent", args: "--agent dev"},
		{name: "agent_1m", args: "--agent long"},
		{name: "agent_mapped", env: three, args: "--agent dev"},
		{name: "agent_variable", env: "ANTHROPIC_MODEL=haiku", args: "--agent dev"},
		{name: "agent_settings", settings: `{"model":"haiku"}`, args: "--agent dev"},
		{name: "agent_and_flag", args: "--agent dev --model haiku"},
		{name: "opusplan", args: "--model opusplan"},
		{name: "opusplan_planning", args: "--model opusplan --permission-mode plan"},
	} {
		t.Run(test.name, func(t *testing.T) {
			forClients(t, modelScript, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.vars = append(box.vars, strings.Fields(test.env)...)
				for agent, model := range map[string]string{"dev": "sonnet", "long": "sonnet[1m]"} {
					box.write("../work/.claude/agents/"+agent+".md", 0o600,
						"---\nname: "+agent+"\ndescription: works\nmodel: "+model+"\n---\nWork.\n")
				}
				args := []string{"ccc", "--supervisor"}
				if test.provider != "" {
					box.write(".claude/ccc.json", 0o600, fmt.Sprintf(`{"providers":{"a":{"env":{`+
						`"ANTHROPIC_BASE_URL":%q,"ANTHROPIC_AUTH_TOKEN":"t",%s}}}}`, api.URL, test.provider))
					args = append(args, "a")
				}
				if test.settings != "" {
					box.setSettings(test.settings)
				}
				// As a reviewer prints: text alone has other beta headers (2.1.332).
				args = append(args, "-p", "--output-format", "stream-json", "--verbose")
				if test.file != "" {
					box.write("../work/more.json", 0o600, test.file)
					args = append(args, "--settings", filepath.Join(box.work, "more.json"))
				}
				args = append(args, strings.Fields(test.args)...)
				if got := box.run(60*time.Second, "hello", args...); got.code != 0 {
					t.Errorf("got %+v", got)
				}
				api.expectSameModel(t, 1)
			})
		})
	}
}

// What the user chooses by /model counts from then on, whatever the launch said.
func TestRealClientModelSwitched(t *testing.T) {
	beside(t)
	for _, test := range []struct{ name, args, env, command string }{
		{name: "longer", args: "--model haiku", command: "/model sonnet[1m]"},
		{name: "shorter", args: "--model sonnet[1m]", command: "/model haiku"},
		{name: "from_a_variable", env: "ANTHROPIC_MODEL=haiku", command: "/model opus"},
	} {
		t.Run(test.name, func(t *testing.T) {
			forClients(t, modelScript, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.vars = append(box.vars, strings.Fields(test.env)...)
				tty := box.start(strings.Fields(test.args)...)
				tty.prompt("hello")
				box.awaitVerdicts(1)
				tty.prompt(test.command)
				const asks, answered = "Switch model?", "Set model to"
				tty.waitUntil("an answer", 60*time.Second, func(screen string) bool {
					return strings.Contains(screen, asks) || strings.Contains(screen, answered)
				})
				if strings.Contains(tty.screen(), asks) {
					tty.choose(asks)
				}
				tty.waitFor(answered, 60*time.Second)
				tty.prompt("and now?")
				box.awaitVerdicts(2)
				api.expectSameModel(t, 2)
				agents := api.requests("agent")
				if agents[0].Model == agents[len(agents)-1].Model {
					t.Error("the model is the same: the test shows nothing")
				}
			})
		})
	}
}

// A session that goes on has the model that it had, or the one that it is given; so has the reviewer.
func TestRealClientModelResumed(t *testing.T) {
	beside(t)
	for name, args := range map[string]string{
		"as_it_was": "", "with_another": "--model sonnet[1m]", "compacted": "", "fork_of_compacted": "--fork-session",
	} {
		t.Run(name, func(t *testing.T) {
			forClients(t, modelScript, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				print := []string{"-p", "--output-format", "stream-json", "--verbose"}
				box.run(60*time.Second, "hello", append([]string{"claude", "--model", "haiku"}, print...)...)
				if strings.Contains(name, "compacted") {
					box.run(60*time.Second, "/compact", append([]string{"claude", "--model", "haiku", "--continue"}, print...)...)
				}
				command := slices.Concat([]string{"ccc", "--supervisor", "--"}, print, []string{"--continue"}, strings.Fields(args))
				if got := box.run(60*time.Second, "go on", command...); got.code != 0 {
					t.Errorf("got %+v", got)
				}
				api.expectSameModel(t, 1)
			})
		})
	}
}

// The model is the session's also where no launch of ccc's has seen how it was chosen.
func TestRealClientModelUnsupervised(t *testing.T) {
	beside(t)
	for _, model := range []string{"haiku", "sonnet[1m]"} {
		t.Run(model, func(t *testing.T) {
			forClients(t, modelScript, func(t *testing.T, client realClient, box *sandbox, api *scriptedAPI) {
				box.launch() // the hooks are there
				tty := box.open("claude", "--model", model)
				tty.prompt("/supervisor on")
				tty.prompt("hello")
				box.awaitVerdicts(1)
				if got := box.run(60*time.Second, "", "ccc", "review"); got.code != 0 {
					t.Errorf("got %+v", got)
				}
				api.expectSameModel(t, 2)
			})
		})
	}
}
