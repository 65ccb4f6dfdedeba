package main

// What is secret and what is not.

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// run62 returns n letters and digits that repeat nothing, the same for each seed.
func run62(n int, seed string) string {
	const alphabet = letters + digits
	var b strings.Builder
	for x := checksum([]byte(seed)); b.Len() < n; x = checksum([]byte(x)) {
		for i := 0; i+1 < len(x) && b.Len() < n; i += 2 {
			var v int
			_, _ = fmt.Sscanf(x[i:i+2], "%x", &v)
			b.WriteByte(alphabet[v%len(alphabet)])
		}
	}
	return b.String()
}

// hex returns n digits of a hexadecimal number, the same for each seed.
func hex(n int, seed string) (text string) {
	for x := checksum([]byte(seed)); len(text) < n; x = checksum([]byte(x)) {
		text += x
	}
	return text[:n]
}

func uuidOf(seed string) string {
	x := hex(32, seed)
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
}

// What is redacted before ccc.json is read, as a warning is, hides its tokens no less afterwards.
func TestSecretsOfConfig(t *testing.T) {
	redactor, language := processRedactor, lang
	defer func() { processRedactor, lang = redactor, language }()
	expectIs(t, "a text before ccc.json is read", redact("glm-token-5678"), "glm-token-5678")
	c := defaultConfig()
	c.Providers["glm"] = &provider{Env: map[string]string{tokenVariable: "glm-token-5678"}}
	c.use(nil)
	expectIs(t, "its token after that", redact("glm-token-5678"), masked)
}

// pem is a key of some lines. Its marks are put together here so that no scanner takes this file for a key.
func pem(kind, newline string) string {
	lines := []string{"-----BEGIN " + kind + "-----"}
	for i := range 4 {
		lines = append(lines, run62(64, fmt.Sprint(kind, i)))
	}
	return strings.Join(append(lines, run62(28, kind)+"==", "-----END "+kind+"-----"), newline)
}

// tokenForms are the ten, each put together here, so that no scanner takes this file for one.
func tokenForms() map[string]string {
	return map[string]string{
		"GitHub":             "gh" + "p_" + run62(36, "gh"),
		"GitHub, of an app":  "gh" + "s_" + run62(36, "app"),
		"GitHub, fine":       "github" + "_pat_" + run62(22, "pat") + "_" + run62(59, "pat2"),
		"GitLab":             "gl" + "pat-" + run62(10, "gl") + "-" + run62(9, "gl2"),
		"AWS":                "AK" + "IA" + strings.ToUpper(run62(16, "aws")),
		"AWS, of a session":  "AS" + "IA" + strings.ToUpper(run62(16, "sts")),
		"Anthropic":          "sk" + "-ant-api03-" + run62(40, "ant") + "-_" + run62(40, "ant2"),
		"OpenAI":             "sk" + "-" + run62(48, "oai"),
		"DeepSeek":           "sk" + "-" + hex(32, "ds"),
		"Slack":              "xo" + "xb-123456789012-1234567890123-" + run62(24, "slack"),
		"Google":             "AI" + "za" + run62(20, "google") + "-_" + run62(13, "g"),
		"Stripe":             "sk" + "_live_" + run62(24, "stripe"),
		"Stripe, restricted": "rk" + "_test_" + run62(99, "stripe2"),
		"npm":                "np" + "m_" + run62(36, "npm"),
		"Hugging Face":       "h" + "f_" + run62(34, "hf"),
		"JWT": "ey" + "J" + run62(33, "jwt") + ".eyJ" + run62(50, "jwt2") + "." +
			run62(20, "jwt3") + "-_x",
	}
}

// Each is found wherever it stands, also quoted in JSON and in colour, and nothing beside it goes.
func TestSecretForms(t *testing.T) {
	t.Parallel()
	redact := newRedactor(nil)
	for name, token := range tokenForms() {
		for _, around := range []string{"%s", "KEY=%s", "https://x:%s@a.example/b", `"x\n%s\ny"`,
			"\x1b[32m%s\x1b[0m", "␛[1;32m%s", "是%s。", "-H 'Authorization: Bearer %s'"} {
			expectIs(t, name, redact(fmt.Sprintf(around, token)), fmt.Sprintf(around, masked))
		}
	}
}

// A private key goes whole, also in JSON, with marks or numbers before its lines, or cut at its end. A mark
// that code names is none.
func TestPrivateKeys(t *testing.T) {
	redact, private := newRedactor(nil), "PRIVATE"+" KEY"
	key := pem(private, "\n")
	lines := strings.Split(key, "\n")
	for name, c := range map[string]struct{ text, want string }{
		"RSA":       {pem("RSA "+private, "\n"), "***"},
		"OpenSSH":   {"$ cat id\n" + pem("OPENSSH "+private, "\n") + "\nok", "$ cat id\n***\nok"},
		"diff":      {strings.ReplaceAll(key, "\n", "\n+"), "***"},
		"PGP":       {pem("PGP "+private+" BLOCK", "\n"), "***"},
		"numbered":  {strings.ReplaceAll(key, "\n", "\n     2\t"), "***"},
		"JSON":      {`{"private_key": "` + pem(private, `\n`) + `\n"}`, `{"private_key": "***\n"}`},
		"head":      {"$ head\n" + strings.Join(lines[:3], "\n") + "\nok", "$ head\n***"},
		"encrypted": {strings.Replace(key, "\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\n", 1), "***"},
		"two":       {key + "\nand\n" + key, "***\nand\n***"},
		"code":      {`strings.Contains(text, "-----BEGIN ` + private + `-----")`, ""},
		"public":    {strings.ReplaceAll(key, "PRIVATE", "PUBLIC"), ""},
	} {
		if c.want == "" {
			c.want = c.text
		}
		expectIs(t, name, redact(c.text), c.want)
	}
}

var harmlessTexts = []string{
	"postgres://user:$PASSWORD@localhost/db", "DB_PASS=hunter12", "Bearer abcdefghijk1", "密码：hunter2hunter2",
	"ANTHROPIC_AUTH_TOKEN: ${KIMI_TOKEN_2026}", "commit 9b74c9897bac770ffc029102a200c5de1a2b3c4d",
	"550e8400-e29b-41d4-a716-446655440000",
	"golang.org/x/sys v0.21.0 h1:rF+pYz3DAGSQAxAu1CbC7catZg4ebC4UIeIhKxBZvws=",
	"//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEuanMiXX0=",
	"func getToken2(ctx context.Context) (string, error) {", "sk-container-id-1 sk-toggleable__label-arrow",
	"task-list-of-all-that-is-to-be-done-this-week-and-next", "npm_config_registry_url_2",
	"hf_hub_download_to_directory", "msg_01XFDUDYJgAACzvnptvvzELk", "toolu_01A09q90qw90lq917835lq9x",
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7d3e1c1a20b44c4e8a511f0f5a8d1e0b user@host",
	"a\n\tb  c\r\n", "", "\xff\xfe token",
}

func TestHarmlessTexts(t *testing.T) {
	const variables = "PWD=/home/u/project2 KEYSPACE=orders_v2 TOKENIZER=tiktoken1 MONKEY=abcd1234 " +
		"SHORT_KEY=abcdefg AUTH= MODEL=kimi-k2-thinking"
	redact := newRedactor(strings.Fields(variables))
	whole := strings.Join(append(harmlessTexts, variables), "\n")
	expectIs(t, "all of them", redact(whole), whole)
	expectIs(t, "all of them, quoted", redact(fmt.Sprintf("%q", whole)), fmt.Sprintf("%q", whole))
}

// The values of variables that are named like secrets, of 8 characters or more, and the tokens of providers.
func TestSecretValues(t *testing.T) {
	redact := newRedactor([]string{"MY_PASSWORD=Correct horse", "API_KEY=abcd1234", "SEVEN_KEY=abcd12x",
		"BAD_KEY=\xff\xfe12345678", "X_PAT=.*+?[](x1", "MULTI_SECRET=one 1\ntwo 2", "SPACED_KEY= abcd9876\n",
		"LONG_TOKEN=abcd1234-more", "NAMED_KEY=一二三四五六七八", "UPPER_PASSWORD=Password", "DB_PASSWORD=password",
		"POSTGRES_PASSWORD=postgres", "WORDS_PASSWORD=correcthorsebat", "LONG_PASSWORD=correcthorsebatt"})
	for text, want := range map[string]string{
		"abcd1234 abcd1234-more":              "*** ***",
		`"a\nabcd1234\n"` + "\x1b[1mabcd1234": `"a\n***\n"` + "\x1b[1m***",
		"=.*+?[](x1":                          "=***",
		"abcd9876 SPACED abcd12x":             "*** SPACED abcd12x",
		"fix the password reset of postgres":  "fix the password reset of postgres",
		"correcthorsebat correcthorsebatt":    "correcthorsebat ***",
	} {
		expectIs(t, text, redact(text), want)
	}
	for want, names := range map[string]string{
		masked: "TOKEN GITHUB_TOKEN STRIPE_KEY OPENAI_APIKEY apiKey KEY2 DB_PASSWORD PGPASSWORD DB_PASSWD " +
			"DB_PASS SSH_PASSPHRASE AWS_SECRET_ACCESS_KEY CLIENT_SECRET SECRET_KEY_BASE GITLAB_PAT " +
			"OPS_AUTH COOKIE SENTRY_DSN A_WEBHOOK DB_PASSWORD_1",
		"abcd1234": "MONKEY COMPASS PATH KEYSPACE TOKENS TOKEN_COUNT SSH_AUTH_SOCK KEY_FILE " +
			"GNOME_KEYRING_CONTROL XAUTHORITY",
	} {
		for name := range strings.FieldsSeq(names) {
			expectIs(t, name, newRedactor([]string{name + "=abcd1234"})("abcd1234"), want)
		}
	}
	config, err := parseConfig([]byte(`{"providers":{
		"kimi":{"env":{"ANTHROPIC_AUTH_TOKEN":"${MOONSHOT}","ANTHROPIC_MODEL":"model-2026"}},
		"b":{"env":{"ANTHROPIC_API_KEY":"of-b-1234"}},
		"c":{"env":{"ANTHROPIC_CUSTOM_HEADERS":"X-Name: a\nAuthorization: Bearer of-c-1234\n"}}}}`))
	check(t, err)
	redact = newRedactor(append(config.variables([]string{"MOONSHOT=moon-1234"}), "OTHER=other-1234"))
	const set = "moon-1234 model-2026 of-b-1234 other-1234 Bearer of-c-1234 ${MOONSHOT}"
	expectIs(t, "what the providers set", redact(set), "*** model-2026 *** other-1234 Bearer *** ${MOONSHOT}")
}

// A text of megabytes takes some seconds at most, whatever is in it.
func TestRedactLinear(t *testing.T) {
	redact := newRedactor([]string{"A_TOKEN=aaaaaaaaa1", "B_TOKEN=" + masked + "+abcd12+"})
	size := 1 << 16
	if raceEnabled { // where all takes twenty times as long
		size = 1 << 12
	}
	parts := strings.Split("a|aaaaaaaaa1|key=|token=token:|eyJ|eyJ.|a_|://a:|://a@|https://hook/|Bearer |"+
		"+abcd12+|KEY|A_KEY_|keyKey|\x1b[0m|\\n|= |a.b-c|***|AKIA|sk-|\n", "|")
	parts = append(parts, "-----BEGIN PRIVATE"+" KEY-----", "-----END PRIVATE"+" KEY-----")
	parts = append(parts, run62(80, "x")+"\n", "gh"+"p_")
	for _, part := range parts {
		took, text := time.Minute, strings.Repeat(part, size/len(part))
		for tries := 0; took > time.Second && tries < 10; tries++ { // mostly it is some 20 ms
			begun := time.Now()
			if !utf8.ValidString(redact(text)) {
				t.Errorf("%.40q: no UTF-8", part)
			}
			took = time.Since(begun)
		}
		if took > time.Second {
			t.Errorf("%.40q: %v", part, took)
		}
	}
}

// A valid text stays one, and a secret that is planted does not survive.
func FuzzRedact(f *testing.F) {
	for _, text := range harmlessTexts {
		f.Add(text, "\n"+text, "Value-of-1234")
	}
	f.Add("-----BEGIN PRIVATE"+" KEY-----", "://a:b@c", "***1234567")
	f.Fuzz(func(t *testing.T, before, behind, value string) {
		got := newRedactor([]string{"A_TOKEN=" + value})(before + " " + value + " " + behind + "\n" + aSecret)
		if utf8.ValidString(before+" "+value+" "+behind) && !utf8.ValidString(got) {
			t.Fatalf("no UTF-8: %q", got)
		}
		value = strings.TrimSpace(value)
		isWord := len(value) < 16 && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz") == ""
		isLong := utf8.RuneCountInString(value) >= 8 && utf8.ValidString(value)
		isLeft := isLong && !isWord && !strings.Contains(masked, value) && strings.Contains(got, value)
		if isLeft || !strings.Contains(aSecret, value) && strings.Contains(got, aSecret) {
			t.Fatalf("%q or %q is left of %q", value, aSecret, got)
		}
	})
}
