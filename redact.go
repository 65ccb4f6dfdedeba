package main

// A secret is found by value, as the environment has it, or by form, in a text that ccc did not write.

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const masked = "***"

// redact replaces the secrets in a text that ccc did not write, for people who see it, and in what a run
// printed. What the agent or the reviewer gets is never redacted, and no program reads a redacted text again.
func redact(text string) string { return processRedactor()(text) }

// processRedactor returns the redactor of this process. config.go adds the tokens of ccc.json once a command
// has loaded it.
var processRedactor = redactorOf(os.Environ)

// redactorOf returns what makes the redactor for these variables, when the first text is redacted.
func redactorOf(env func() []string) func() func(string) string {
	return sync.OnceValue(func() func(string) string { return newRedactor(env()) })
}

// secretName matches the names of variables that hold a secret: GITHUB_TOKEN, APIKEY, PGPASSWORD, key2.
var secretName = lazyRegexp(`(?i)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|APIKEY|` +
	`(?:^|_)(?:KEY|PASS|PAT|AUTH|COOKIE|DSN|WEBHOOK|SECRET_KEY_BASE))_?[0-9]*$`)

// secretForms matches what is a secret by its form: private keys, whose end a text that was cut may lack, and
// the ten best-known tokens, as their services document them: GitHub, npm, Hugging Face, GitLab, Slack,
// Google, Stripe, AWS, a JWT, and sk- of OpenAI, Anthropic and others. Before sk- there is no letter
// (task-...), but for \n as JSON writes it, or the end of a colour.
const secretForms = `(?s:-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?:\s|\\n).*?` +
	`(?:-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----|\z))|` +
	`(?:gh[a-z]_|npm_|hf_)[A-Za-z0-9]{20,}|(?:github_pat_|glpat-|xox[a-z]-|AIza)[\w-]{20,}|` +
	`[sr]k_(?:live|test)_\w{20,}|A[KS]IA[A-Z0-9]{16}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|` +
	`(\b|\\[nrt]|\[[0-9;]*m)sk-[\w-]{32,}`

// newRedactor returns a function that replaces each secret in a text by ***: the values, of 8 characters or
// more, of those variables of env that are named like secrets, and what is a secret by its form. A value of
// lower-case letters alone is a word of every text (postgres, password), unless it has 16 of them.
func newRedactor(env []string) func(string) string {
	var values []string
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		value = strings.TrimSpace(value)
		least := 8
		if strings.Trim(value, "abcdefghijklmnopqrstuvwxyz") == "" {
			least = 16
		}
		isLong := utf8.RuneCountInString(value) >= least
		if isLong && utf8.ValidString(value) && secretName().MatchString(name) {
			values = append(values, regexp.QuoteMeta(value))
		}
	}
	longerFirst := func(a, b string) int { return cmp.Compare(len(b), len(a)) } // one may begin another
	slices.SortFunc(values, longerFirst)
	secret := regexp.MustCompile(strings.Join(append(values, secretForms), "|"))
	return func(text string) string { return secret.ReplaceAllString(text, "${1}"+masked) }
}
