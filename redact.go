package main

// What is secret in a text that is recorded: by value, as the session's environment has it, and by form.

import (
	"cmp"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// masked stands in the place of a secret.
const masked = "***"

// secretLeast is how many characters a secret has at least: MAX_OUTPUT_TOKENS=32000 is none.
const secretLeast = 8

// redactor returns a function that replaces each secret in a text by ***: the values of those variables of
// env that are named like secrets, private keys, tokens of known services, credentials in URLs and headers,
// and what the text itself gives as the value of such a name. A text without a secret comes back as it is,
// and so does one that was redacted before.
func redactor(env []string) func(string) string {
	values := secretValues(env)
	always := func(_, _ string) bool { return true }
	pass := func(text string) string {
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
	return func(text string) string {
		for { // what was replaced may have stood between two parts of another
			next := pass(text)
			if next == text {
				return text
			}
			text = next
		}
	}
}

// redactLine replaces what is secret by its form. It looks first for what is in each such form, for the
// expressions take a second for a megabyte.
func redactLine(line string) string {
	isKey := func(_, found string) bool { return !isPlainWord(found) }
	if holdsRun(line) {
		line = mask(line, serviceToken(), isKey)
	}
	if strings.Contains(line, "://") {
		line = mask(mask(line, webhook(), isWebhookKey), urlCredentials(), isCredential)
	}
	lower := strings.ToLower(line)
	isIn := func(part string) bool { return strings.Contains(lower, part) }
	if isIn("bearer") || isIn("basic") || isIn("authorization") {
		line = mask(line, authorization(), isAuthorization)
	}
	if hasDigit(line) && slices.ContainsFunc(strings.Split(strings.ToLower(wordsOfName), "|"), isIn) {
		line = mask(line, assignment(), isAssigned)
	}
	return line
}

// holdsRun reports whether the text holds as long a run of characters of keys as each token of a service is.
func holdsRun(text string) bool {
	const least = 20
	length := 0
	for _, r := range text {
		if length++; !strings.ContainsRune(letters+digits+"_.~-", r) {
			length = 0
		}
		if length == least {
			return true
		}
	}
	return false
}

// mask replaces by *** what the second group of the expression matches, where isSecret, which gets both
// groups, reports true. The first group is what stands before it.
func mask(text string, expression *regexp.Regexp, isSecret func(before, found string) bool) string {
	var b strings.Builder
	done := 0
	for _, at := range expression.FindAllStringSubmatchIndex(text, -1) {
		before, found := at[2:4], at[4:6]
		if isSecret(text[before[0]:before[1]], text[found[0]:found[1]]) {
			b.WriteString(text[done:found[0]] + masked)
			done = found[1]
		}
	}
	return b.String() + text[done:]
}

// wordStart is where a word begins, also one in JSON or in colour: after \n as it is written, or an escape
// sequence of a terminal.
const wordStart = `(^|[^0-9A-Za-z_]|\\[nrt]|\x1b\[[0-9;]*m)`

// secretValues finds the values of secret variables as whole words, the longest first, for one may begin with
// another. It is nil where there are none.
func secretValues(env []string) *regexp.Regexp {
	var values []string
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		value = strings.TrimSpace(value)
		if isSecretName(name) && utf8.ValidString(value) && !isHarmless(value) {
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

// isHarmless reports whether value, of a variable that is named like a secret, is none: it is short, a plain
// word, a path that is there, or a URL that holds no credentials.
func isHarmless(value string) bool {
	if utf8.RuneCountInString(value) < secretLeast || isPlainWord(value) || isPlainURL(value) {
		return true
	}
	path := value
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		path = filepath.Join(os.Getenv("HOME"), rest)
	}
	_, err := os.Stat(path)
	return err == nil
}

// isPlainWord reports whether text is one word, or several, in letters of one case: localhost, created_at.
func isPlainWord(text string) bool {
	isOneCase := text == strings.ToLower(text) || text == strings.ToUpper(text)
	return isOneCase && strings.Trim(text, letters+"_-") == ""
}

func hasDigit(text string) bool { return strings.ContainsAny(text, digits) }

// isPlainURL reports whether text is a URL in which nothing looks like a key. A user or a password in one is
// found by its form.
func isPlainURL(text string) bool {
	_, rest, isURL := strings.Cut(text, "://")
	isPunctuation := func(r rune) bool { return !strings.ContainsRune(letters+digits+"_-", r) }
	looksLikeKey := func(part string) bool { return len(part) >= 16 && hasDigit(part) }
	return isURL && !slices.ContainsFunc(strings.FieldsFunc(rest, isPunctuation), looksLikeKey)
}

// The names of secrets: one word of theirs is among these, where _ or the case parts words, or ends like one
// of endsOfName, as PGPASSWORD does.
const (
	wordsOfName = "Token|Key|Secret|Password|Passwd|Pass|Pwd|Passphrase|Pat|Credentials|Auth|" +
		"Cookie|Dsn|Webhook"
	endsOfName = "password|token|secret|apikey"
)

// secretNames is the expression for such a name, from its beginning to its end: A_KEY_B, a_key_b and aKeyB,
// and what ends a word.
var secretNames = `(?:(?:[\w.-]*[0-9_.-])?(?:` + strings.ToUpper(wordsOfName) + `)(?:[0-9_.-][\w.-]*)?|` +
	`(?:[\w.-]*[0-9_.-])?(?:` + strings.ToLower(wordsOfName) + `)(?:[A-Z0-9_.-][\w.-]*)?|` +
	`[\w.-]*(?:` + wordsOfName + `)(?:[A-Z0-9_.-][\w.-]*)?|` +
	`[\w.-]*(?i:` + endsOfName + `)(?:[0-9_.-][\w.-]*)?)`

var secretName = lazyRegexp("^" + secretNames + "$")

func isSecretName(name string) bool { return secretName().MatchString(name) }

// assignment finds NAME=value, name: value and "name": "value" of a secret name. The value is one run of the
// characters of keys and passwords, and nothing behind it says that it is code.
var assignment = lazyRegexp(`((?:\b|\\[nrt])` +
	secretNames + quote + `[ \t]*(?::=|=>|=|:)[ \t]*` + quote + `)` +
	`([\w+/=.~-]{8,})(?:[^\w+/=.~(\[{:@$%^-]|$)`)

// quote is one of a string's, which has a backslash before it where the string stands in another.
const quote = "(?:\\\\*[\"'`])?"

// isAssigned reports whether the value of a secret name is a secret. The PASS of a test names no password.
func isAssigned(before, value string) bool {
	return hasDigit(value) && !isHarmless(value) && before != "PASS: "
}

// privateKey finds the private keys of PEM and PGP, base64 behind its mark or before it: the output of a
// command may be cut at either end.
var privateKey = lazyRegexp(`(?s)()(` + keyBegins + `.{0,150}?` + keyBody + `(?:.{0,80}?` + keyEnds + `)?|` +
	keyBody + `.{0,80}?` + keyEnds + `)`)

const (
	keyBegins = `-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----`
	keyEnds   = `-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----`
	// keyBody is lines of base64, which may have numbers or marks before them.
	keyBody = `[A-Za-z0-9+/=]{32,}(?:.{0,12}?[A-Za-z0-9+/=]{32,})*`
)

// What the tokens of services begin with, as the services document it: those of letters and digits, and those
// that have - and _, or dots, in them.
const (
	oneRun = `gh[a-z]_|github_pat_|` + // GitHub
		`npm_|rubygems_|cio|oy2|` + // npm, RubyGems, crates.io, NuGet
		`hf_|gsk_|r8_|` + // Hugging Face, Groq, Replicate
		`do[a-z]_v1_|dapi|sbp_|nfp_|pul-|LTAI|AKID|AKLT|` + // DigitalOcean, Databricks ... Alibaba, Tencent
		`[sr]k_live_|[sr]k_test_|shp[a-z]{2}_|key-|SK|` + // Stripe, Shopify, Mailgun, Twilio
		`lin_[a-z]+_|ntn_|secret_|NRAK-|AGE-SECRET-KEY-1` // Linear, Notion, New Relic, age
	inParts = `sk-|xai-|pplx-|nvapi-|` + // OpenAI, Anthropic and others, xAI, Perplexity, Nvidia
		`gl[a-z]{0,4}(?:pat|t|oas|agent)-|AT(?:[AC]TT3|BB)|` + // GitLab, Atlassian
		`pypi-AgE|dckr_[a-z]+_|` + // PyPI, Docker
		`xox[a-z.]+-|xapp-|SG\.|xkeysib-|` + // Slack, SendGrid, Brevo
		`AIza|ya29\.|1//0|GOCSPX-|HRKU-|cf[a-z]{2,3}_|` + // Google, Heroku, Cloudflare
		`hv[sbr]\.|dp\.[a-z]+\.|tskey-|pscale_[a-z]+_|sb_secret_|` + // Vault, Doppler, Tailscale ... Supabase
		`gls?[ac]_|figd_|PMAK-` // Grafana, Figma, Postman
	withSlashes = `whsec_|sntry[a-z]_|fm[12][a-z]?_` // Stripe, Sentry, Fly
	// byMiddle are forms without a beginning of their own.
	byMiddle = `eyJ[\w-]{8,}(?:\.[\w-]*){2,}|` + // a JWT
		`[MNO][\w-]{22,}\.[\w-]{6}\.[\w-]{27,}|` + // Discord
		`(?:bot)?[0-9]{8,10}:AA[\w-]{33}|` + // Telegram
		`[\w.~-]{3}[0-9]Q~[\w.~-]{31,}|` + // Azure
		`[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}|` + // Terraform
		`A[KS]IA[A-Z0-9]{16}|` + // AWS
		`[0-9a-f]{32}(?:-us[0-9]+|-[0-9a-f]{8}-[0-9a-f]{8}|\.[A-Za-z0-9]{16})\b` // Mailchimp, Mailgun, Zhipu
)

// serviceToken finds the tokens of services.
var serviceToken = lazyRegexp(wordStart + `((?:` + oneRun + `)[A-Za-z0-9]{20,}\w*|` +
	`(?:` + inParts + `)[\w-]{20,}(?:\.[\w-]+)*|(?:` + withSlashes + `)[\w+/=-]{20,}|` + byMiddle + `)`)

// webhook finds the URL of one, which whoever knows it can post to: its last part is the key.
var webhook = lazyRegexp(`(https://[^\s"'<>]*?(?:\bhooks?\b|webhook)[^\s"'<>]*?[/=])([\w-]{16,})`)

// isWebhookKey reports whether the last part of a webhook's URL is its key: src/hooks/useLocalStorage.ts is
// none.
func isWebhookKey(_, found string) bool { return hasDigit(found) && !isPlainWord(found) }

// urlCredentials finds the password of a URL, or the user where there is no password.
var urlCredentials = lazyRegexp("(://(?:[^\\s/:@\"'<>`]*:)?)([^\\s/\"'<>`]+)@")

// isCredential reports whether what a URL has before its host is a password, or a key in the place of the
// user. What a program fills in is none: $PASSWORD, {password}, %s.
func isCredential(before, found string) bool {
	if before == "://" {
		return len(found) >= 16 && hasDigit(found)
	}
	return !strings.ContainsAny(found[:1], "${") && found != "%s"
}

// authorization finds what an Authorization header holds, and what stands behind Bearer or Basic anywhere.
var authorization = lazyRegexp(`((?:\b|\\[nrt])(?i:bearer|basic)[ \t]+|` +
	`(?i:authorization)["']?[:=][ \t]*["']?(?:[A-Za-z]+[ \t]+)?)([\w+/=.~-]{8,})`)

// isAuthorization reports whether the word in a header is a key, or a user and a password in
// base64.
func isAuthorization(_, found string) bool {
	plain, err := base64.StdEncoding.DecodeString(found)
	return hasDigit(found) || err == nil && strings.Contains(string(plain), ":")
}
