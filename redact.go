package main

// A secret is found by value, as the environment has it, or by form, in a text that ccc did not write.

import (
	"cmp"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// masked replaces a secret.
const masked = "***"

// redact replaces the secrets in a text that ccc did not write, for people who see it, and in what a run
// printed. What the agent or the reviewer gets is never redacted, and no program reads a redacted text again.
func redact(text string) string { return processRedactor()(text) }

var processRedactor = sync.OnceValue(func() func(string) string { return newRedactor(secretEnvironment()) })

// secretEnvironment returns the variables of which the secret ones are looked for, when the first text is
// redacted. config.go adds the tokens of ccc.json once a command has loaded it.
var secretEnvironment = os.Environ

// newRedactor returns a function that replaces each secret in a text by ***: the values of those variables of
// env that are named like secrets, and what is a secret by its form.
func newRedactor(env []string) func(string) string {
	values := secretValues(env)
	always := func(_, _ string) bool { return true }
	return func(text string) string {
		if values != nil {
			text = mask(text, values, always)
		}
		if strings.Contains(text, "PRIVATE KEY") {
			text = mask(text, privateKey(), always)
		}
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(redactLine(line))
		}
		return b.String()
	}
}

// redactLine replaces what is a secret by its form, but for private keys. The last two expressions take a
// second for a megabyte.
func redactLine(line string) string {
	line = mask(line, urlCredentials(), isCredential)
	line = mask(line, webhook(), isWithDigit)
	line = mask(line, authorization(), isAuthorization)
	if hasLongRun(line) {
		line = mask(line, serviceToken(), isKey)
	}
	lower := strings.ToLower(line)
	isIn := func(name string) bool { return strings.Contains(lower, name) }
	if hasDigit(line) && slices.ContainsFunc(marksOfNames, isIn) {
		line = mask(line, assignment(), isAssigned)
	}
	return line
}

// mask replaces by *** what the second group of the expression matches, where isSecret, which gets both
// groups, reports true. The first group is what precedes it.
func mask(text string, expression *regexp.Regexp, isSecret func(before, secret string) bool) string {
	var b strings.Builder
	done := 0
	for _, at := range expression.FindAllStringSubmatchIndex(text, -1) {
		if isSecret(text[at[2]:at[3]], text[at[4]:at[5]]) {
			b.WriteString(text[done:at[4]] + masked)
			done = at[5]
		}
	}
	return b.String() + text[done:]
}

// A word may be in JSON or in colour: behind \n as it is written, or behind an escape sequence of a
// terminal, which may be printable by now.
const (
	wordMark  = `\\[nrt]|[\x1b␛]\[[0-9;]*m`
	wordStart = `(^|[^0-9A-Za-z_]|` + wordMark + `)`
)

// secretValues finds the values of secret variables as whole words, the longest first, for one may begin with
// another. It is nil where there are none.
func secretValues(env []string) *regexp.Regexp {
	var values []string
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		value = strings.TrimSpace(value)
		if secretName().MatchString(name) && utf8.ValidString(value) && !isHarmless(name, value) {
			values = append(values, value)
		}
	}
	if values == nil {
		return nil
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for i, value := range values {
		values[i] = regexp.QuoteMeta(value)
		if strings.ContainsAny(value[len(value)-1:], letters+digits+"_") {
			values[i] += `\b`
		}
	}
	return regexp.MustCompile(wordStart + "(" + strings.Join(values, "|") + ")")
}

// isHarmless reports whether value, of a name like a secret's, is none: it is short, plain, a number of
// tokens or keys, the working directory, or a path that is there.
func isHarmless(name, value string) bool {
	path := value
	if rest, isInHome := strings.CutPrefix(value, "~/"); isInHome {
		path = filepath.Join(os.Getenv("HOME"), rest)
	}
	_, err := os.Stat(path)
	return err == nil || utf8.RuneCountInString(value) < 8 || isPlain(value) ||
		strings.Trim(value, digits+".") == "" && countName().MatchString(name) ||
		strings.Contains(strings.ToUpper(name), "PWD") && strings.HasPrefix(value, "/")
}

// countName finds the name of a number: token_count, keySize.
var countName = lazyRegexp(`(?i)(?:token|key)[_.-]?[a-z]`)

// isPlain reports whether text is words, or a path, in letters of one case: localhost, created_at, /home/u.
func isPlain(text string) bool {
	isOneCase := text == strings.ToLower(text) || text == strings.ToUpper(text)
	return isOneCase && strings.Trim(text, letters+"_-/.") == ""
}

func hasDigit(text string) bool { return strings.ContainsAny(text, digits) }

func isKey(_, text string) bool { return !isPlain(text) }

func isWithDigit(_, text string) bool { return hasDigit(text) }

// hasLongRun reports whether as many characters of keys follow each other as in each token of a service.
func hasLongRun(line string) bool {
	isOther := func(r rune) bool { return !strings.ContainsRune(letters+digits+"_.~-", r) }
	isLong := func(run string) bool { return len(run) >= 20 }
	return slices.ContainsFunc(strings.FieldsFunc(line, isOther), isLong)
}

const (
	// wordsOfName make a name that of a secret. _, a digit or the case parts words.
	wordsOfName = "Token|Key|Secret|Password|Pass|Pwd|Passphrase|Pat|Credentials|Auth|Cookie|Dsn|Webhook|" +
		"Passwd|Pgpassword|Authorization"
	chineseNames = "密码|口令|密钥|令牌"
	// quote is a quotation mark, which has a backslash before it where its string is in another.
	quote = "(?:\\\\*[\"'`])?"
)

// marksOfNames: one of them is in each line, in lower case, in which a name gives something.
var marksOfNames = strings.Split(strings.ToLower(wordsOfName+"|"+chineseNames+"|-u|--user"), "|")

// secretNames is the expression for such a name, from its beginning to its end: A_KEY_B, a_key_b and aKeyB.
var secretNames = `(?:(?:[\w.-]*[0-9_.-])?(?:` + strings.ToUpper(wordsOfName) + `)(?:[0-9_.-][\w.-]*)?|` +
	`(?:[\w.-]*[0-9_.-])?(?:` + strings.ToLower(wordsOfName) + `)(?:[A-Z0-9_.-][\w.-]*)?|` +
	`[\w.-]*(?:` + wordsOfName + `)(?:[A-Z0-9_.-][\w.-]*)?)`

var secretName = lazyRegexp("^" + secretNames + "$")

// assignment finds what such a name gives, NAME=value, name: value, "name": "value", --name value, and the
// password of -u user:password. Nothing behind the value shows that it is code.
var assignment = lazyRegexp(`((?:(?:(?:\b|` + wordMark + `)` + secretNames + `|` + chineseNames + `)` +
	quote + `[ \t]*(?::=|=>|[=:：])[ \t]*|--` + secretNames + `[ \t]+|\B(?:-u|--user)[ \t=]*` + quote +
	`[^\s:=]+:)` + quote + `)([\w+/=.~-]{8,})(?:[^\w+/=.~(\[{:@$%^-]|$)`)

// isAssigned reports whether the value is a secret. The PASS of a test names no password.
func isAssigned(before, value string) bool {
	return hasDigit(value) && !isHarmless(before, value) && before != "PASS: "
}

// privateKey finds the private keys of PEM and PGP: base64 in lines, which may have numbers or marks before
// them, behind a key's first line or before its last: a text may be cut at either end.
var privateKey = lazyRegexp(strings.NewReplacer(
	"BEGIN", `-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----`,
	"END", `-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----`,
	"BODY", `[A-Za-z0-9+/=]{32,}(?:.{0,12}?[A-Za-z0-9+/=]{32,})*`,
).Replace(`(?s)()(BEGIN.{0,150}?BODY(?:.{0,80}?END)?|BODY.{0,80}?END)`))

// serviceToken finds the tokens of services, as these document them: those that go on in letters and digits,
// those that have other characters in them, and those without a beginning of their own.
var serviceToken = lazyRegexp(wordStart + `((?:` +
	`gh[a-z]_|github_pat_|npm_|rubygems_|cio|oy2|` + // GitHub, npm, RubyGems, crates.io, NuGet
	`hf_|gsk_|r8_|do[a-z]_v1_|dapi|sbp_|nfp_|pul-|` + // Hugging Face, Groq, Replicate, DigitalOcean ... Pulumi
	`LTAI|AKID|AKLT|[sr]k_live_|[sr]k_test_|shp[a-z]{2}_|` + // Alibaba, Tencent, Volcano, Stripe, Shopify
	`key-|SK|lin_[a-z]+_|ntn_|secret_|NRAK-|AGE-SECRET-KEY-1` + // Mailgun, Twilio, Linear, Notion ... age
	`)[A-Za-z0-9]{20,}\w*|(?:` +
	`sk-|xai-|pplx-|nvapi-|gl[a-z]{0,4}(?:pat|t|oas|agent)-|` + // OpenAI, Anthropic, xAI ... Nvidia, GitLab
	`AT(?:[AC]TT3|BB)|pypi-AgE|dckr_[a-z]+_|xox[a-z.]+-|xapp-|` + // Atlassian, PyPI, Docker, Slack
	`SG\.|xkeysib-|AIza|ya29\.|1//0|GOCSPX-|HRKU-|cf[a-z]{2,3}_|` + // SendGrid, Brevo, Google ... Cloudflare
	`hv[sbr]\.|dp\.[a-z]+\.|tskey-|pscale_[a-z]+_|sb_secret_|` + // Vault, Doppler, Tailscale ... Supabase
	`gls?[ac]_|figd_|PMAK-|whsec_|sntry[a-z]_|fm[12][a-z]?_` + // Grafana, Figma, Postman, Stripe, Sentry, Fly
	`)[\w+/=-]{20,}(?:\.[\w-]+)*|` +
	`eyJ[\w-]{8,}(?:\.[\w-]*){2,}|[MNO][\w-]{22,}\.[\w-]{6}\.[\w-]{27,}|` + // a JWT, Discord
	`(?:bot)?[0-9]{8,10}:AA[\w-]{33}|[\w.~-]{3}[0-9]Q~[\w.~-]{31,}|` + // Telegram, Azure
	`[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}|A[KS]IA[A-Z0-9]{16}|` + // Terraform, AWS
	`[0-9a-f]{32}(?:-us[0-9]+|-[0-9a-f]{8}-[0-9a-f]{8}|\.[A-Za-z0-9]{16})\b)`) // Mailchimp, Mailgun, Zhipu

// webhook finds the last part of a webhook's URL, with which anybody can post.
var webhook = lazyRegexp(`(https://[^\s"'<>]*?(?:\bhooks?\b|webhook)[^\s"'<>]*[/=])([\w-]{16,})`)

// urlCredentials finds the password of a URL, or the user where there is no password.
var urlCredentials = lazyRegexp("(://(?:[^\\s/:@\"'<>`]*:)?)([^\\s/\"'<>`]+)@")

// isCredential reports whether what a URL has before its host is a password, or a key in the place of the
// user. What a program fills in is none: $PASSWORD, {password}, %s.
func isCredential(before, secret string) bool {
	if before == "://" {
		return len(secret) >= 16 && hasDigit(secret)
	}
	return !strings.ContainsAny(secret[:1], "${") && secret != "%s"
}

// authorization finds what follows Bearer or Basic.
var authorization = lazyRegexp(`((?:\b|` + wordMark + `)(?i:bearer|basic)[ \t]+)([\w+/=.~-]{8,})`)

// isAuthorization reports whether that is a key, or a user and a password in base64.
func isAuthorization(scheme, secret string) bool {
	if strings.Contains(strings.ToLower(scheme), "basic") {
		plain, err := base64.StdEncoding.DecodeString(secret)
		return err == nil && strings.Contains(string(plain), ":")
	}
	return hasDigit(secret)
}
