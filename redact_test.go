package main

// What is secret and what is not.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// pem is a key of some lines. Its marks are put together here so that no scanner takes this file for a key.
func pem(kind, newline string) string {
	lines := []string{"-----BEGIN " + kind + "-----"}
	for i := range 4 {
		lines = append(lines, run62(64, fmt.Sprint(kind, i)))
	}
	return strings.Join(append(lines, run62(28, kind)+"==", "-----END "+kind+"-----"), newline)
}

// A secretForm is a line as it stands in a file or an output, and the part of it that must not survive.
type secretForm struct{ line, secret string }

// secretForms are what services document, each put together here.
func secretForms() map[string]secretForm {
	forms := map[string]secretForm{}
	token := func(name, before, secret, behind string) { // prefix and rest: no token stands in this file
		forms[name] = secretForm{before + secret + behind, secret}
	}
	private := "PRIVATE" + " KEY"
	token("AWS key id", "aws_access_key_id = ", "AK"+"IA"+strings.ToUpper(run62(16, "aws")), "")
	token("AWS session key id", "got ", "AS"+"IA"+strings.ToUpper(run62(16, "sts")), " back")
	token("AWS secret", "aws_secret_access_key = ", run62(19, "aws")+"/+"+run62(19, "aws2"), "")
	token("AWS secret, exported", "export AWS_SECRET_ACCESS_KEY=", run62(40, "aws3"), "")
	token("GCP service account", `{"private_key_id": "a", "private_key": "`, pem(private, `\n`), `\n", "client_email": "a@b"}`)
	token("GCP key id", `"private_key_id": "`, hex(40, "gcp"), `",`)
	token("Google API key", "maps ", "AI"+"za"+run62(20, "google")+"-_"+run62(13, "g"), "")
	token("Google OAuth", "", "ya"+"29.a0"+run62(30, "oauth")+"-"+run62(30, "o2"), "")
	token("Google client", "client_id x ", "GOC"+"SPX-"+run62(28, "client"), "")
	token("Azure storage", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=", run62(84, "azure")+"+/==", ";EndpointSuffix=core.windows.net")
	token("Azure client secret", "AZURE_CLIENT_SECRET=", run62(3, "az")+"8Q~"+run62(20, "az2")+"-._"+run62(11, "az3"), "")
	token("GitHub classic", "", "gh"+"p_"+run62(36, "gh"), "")
	token("GitHub fine-grained", "git clone with ", "github"+"_pat_"+run62(22, "pat")+"_"+run62(59, "pat2"), "")
	token("GitHub app", "x-access-token:", "gh"+"s_"+run62(36, "app"), "")
	token("GitHub in a URL", "https://x-access-token:", "gh"+"s_"+run62(36, "app2"), "@github.com/a/b")
	token("GitLab", "PRIVATE-TOKEN: ", "gl"+"pat-"+run62(10, "gl")+"-"+run62(9, "gl2"), "")
	token("GitLab deploy", "", "gl"+"dt-"+run62(20, "gldt"), "")
	token("Bitbucket", "", "AT"+"BB"+run62(32, "bb"), "")
	token("npm", "//registry.example/:_authToken=", "np"+"m_"+run62(36, "npm"), "")
	token("PyPI", "password = ", "py"+"pi-AgEIcHlwaS5vcmc"+run62(60, "pypi")+"-_"+run62(60, "pypi2"), "")
	token("RubyGems", ":rubygems_api_key: ", "ruby"+"gems_"+hex(48, "gem"), "")
	token("crates.io", "token = \"", "ci"+"o"+run62(32, "crates"), "\"")
	token("NuGet", "", "oy"+"2"+strings.ToLower(run62(43, "nuget")), "")
	token("Docker", "docker login -p ", "dckr"+"_pat_"+run62(13, "docker")+"-"+run62(13, "docker2"), "")
	token("Slack bot", "", "xo"+"xb-123456789012-1234567890123-"+run62(24, "slack"), "")
	token("Slack app", "", "xa"+"pp-1-A0"+run62(9, "s")+"-1234567890-"+hex(64, "xapp"), "")
	token("Slack webhook", "curl https://hooks.slack."+"com/services/T0"+run62(8, "t")+"/B0"+run62(8, "b")+"/", run62(24, "hook"), "")
	token("Discord bot", "", "M"+run62(23, "dc")+"."+run62(6, "dc2")+"."+run62(27, "dc3"), "")
	token("Discord webhook", "https://discord.com/api/web"+"hooks/123456789012345678/", run62(34, "dw")+"-_"+run62(32, "dw2"), "")
	token("Feishu webhook", "https://open.feishu.cn/open-apis/bot/v2/ho"+"ok/", uuidOf("feishu"), "")
	token("WeCom webhook", "https://qyapi.weixin.qq.com/cgi-bin/web"+"hook/send?key=", uuidOf("wecom"), "")
	token("DingTalk", "https://oapi.dingtalk.com/robot/send?access_token=", hex(64, "ding"), "")
	token("Telegram", "https://api.telegram.org/bot", "123456789:"+"AA"+run62(20, "tg")+"-_"+run62(11, "tg2"), "/getMe")
	token("Stripe", "", "sk"+"_live_"+run62(24, "stripe"), "")
	token("Stripe restricted", "", "rk"+"_test_"+run62(99, "stripe2"), "")
	token("Stripe webhook", "", "wh"+"sec_"+run62(20, "wh")+"+/"+run62(10, "wh2"), "")
	token("Twilio key", "", "S"+"K"+hex(32, "twilio"), "")
	token("Twilio token", "TWILIO_AUTH_TOKEN=", hex(32, "twilio2"), "")
	token("SendGrid", "", "S"+"G."+run62(22, "sg")+"."+run62(20, "sg2")+"-_"+run62(21, "sg3"), "")
	token("Mailgun", "", "ke"+"y-"+hex(32, "mg"), "")
	token("Mailgun, newer", "", hex(32, "mg2")+"-"+hex(8, "m")+"-"+hex(8, "n"), "")
	token("Mailchimp", "", hex(32, "mc")+"-us"+"12", "")
	token("Anthropic", "", "sk"+"-ant-api03-"+run62(40, "ant")+"-_"+run62(40, "ant2")+"-"+run62(8, "ant3")+"AA", "")
	token("OpenAI", "", "sk"+"-"+run62(48, "oai"), "")
	token("OpenAI project", "", "sk"+"-proj-"+run62(40, "oai2")+"_"+run62(60, "oai3"), "")
	token("OpenRouter", "", "sk"+"-or-v1-"+hex(64, "or"), "")
	token("DeepSeek", "", "sk"+"-"+hex(32, "ds"), "")
	token("Zhipu", "", hex(32, "glm")+"."+run62(16, "glm2"), "")
	token("HuggingFace", "", "h"+"f_"+strings.Map(func(r rune) rune {
		if strings.ContainsRune(digits, r) {
			return 'Q'
		}
		return r
	}, run62(34, "hf")), "")
	token("Groq", "", "gs"+"k_"+run62(52, "groq"), "")
	token("Replicate", "", "r"+"8_"+run62(37, "r8"), "")
	token("Heroku", "", "HRK"+"U-AA"+run62(30, "hk")+"_"+run62(25, "hk2"), "")
	token("Heroku, older", "HEROKU_API_KEY=", uuidOf("heroku"), "")
	token("DigitalOcean", "", "do"+"p_v1_"+hex(64, "do"), "")
	token("Cloudflare", "CLOUDFLARE_API_TOKEN=", run62(20, "cf")+"-_"+run62(18, "cf2"), "")
	token("Sentry DSN", "https://", hex(32, "sentry"), "@o123.ingest.sentry.io/456")
	token("Sentry", "", "sntr"+"ys_"+run62(60, "sn")+"_"+run62(30, "sn2")+"+/"+run62(10, "sn3"), "")
	token("Shopify", "", "shp"+"at_"+hex(32, "shop"), "")
	token("Databricks", "", "da"+"pi"+hex(32, "db")+"-2", "")
	token("Linear", "", "lin"+"_api_"+run62(40, "lin"), "")
	token("Notion", "", "nt"+"n_"+run62(46, "ntn"), "")
	token("Notion, older", "", "secret"+"_"+run62(43, "notion"), "")
	token("Vault", "", "hv"+"s."+run62(40, "vault")+"-_"+run62(40, "vault2"), "")
	token("age", "", "AGE-SECRET"+"-KEY-1"+strings.ToUpper(run62(58, "age")), "")
	token("Tailscale", "", "tskey"+"-auth-"+run62(12, "ts")+"-"+run62(32, "ts2"), "")
	token("Supabase", "", "sb"+"p_"+hex(40, "sb"), "")
	token("New Relic", "", "NR"+"AK-"+strings.ToUpper(run62(27, "nr")), "")
	token("Alibaba", "", "LT"+"AI"+run62(20, "ali"), "")
	token("JWT", "token is ", "ey"+"J"+run62(33, "jwt")+".eyJ"+run62(50, "jwt2")+"."+run62(20, "jwt3")+"-_"+run62(20, "jwt4"), "")
	token("Bearer", "Authorization: Bearer ", run62(30, "bearer"), "")
	token("Authorization alone", "Authorization: ", run62(40, "alone"), "")
	token("PASSWD", "DB_PASSWD=", run62(12, "passwd")+"7", "")
	token("Basic", `-H "Authorization: Basic `, "dXNlcjpwYXNz"+"d29yZA==", `"`)
	token("password in a URL", "DATABASE_URL=postgres://app:", "hunter"+"-too", "@db.example:5432/app?sslmode=disable")
	token("password alone in a URL", "redis://:", "s3cr3t", "@localhost:6379/0")
	token("password with @", "mysql://root:", "p@ss:w0rd", "@127.0.0.1/x")
	token("RSA key", "", pem("RSA "+private, "\n"), "")
	token("OpenSSH key", "", pem("OPENSSH "+private, "\n"), "")
	token("PGP key", "", pem("PGP "+private+" BLOCK", "\n"), "")
	token("EC key of a diff", "", strings.ReplaceAll(pem("EC "+private, "\n"), "\n", "\n+"), "")
	token("numbered key", "", strings.ReplaceAll(pem(private, "\n"), "\n", "\n     2\t"), "")
	token("the name's", "DB_PASS=", "hunter2hunter", "")
	token("the name's, YAML", "  password: ", "abc-def-123", "")
	token("the name's, JSON", `{"apiKey": "`, "abcd1234efgh", `"}`)
	token("the name's, JSON in JSON", `"{\"dbPassword\": \"`, "abcd1234efgi", `\"}"`)
	token("the name's, behind \\n", `"A=1\nKEY=`, "abcd1234efgj", `\nB=2"`)
	token("PGPASSWORD", "PGPASSWORD=", "Abcd.1234", " psql")
	token("a flag's", "mysql --password ", "hunter2hunter", " -u root")
	token("a flag's, quoted", "ccc --api-key '", "abcd1234-efgi", "'")
	token("a user's", "curl -u admin:", "hunter2hunteR", " https://a.example")
	token("a user's, long", `curl --user "admin:`, "hunter2hunteS", `"`)
	token("密码", "数据库密码：", "hunter2hunteT", "。")
	token("密码, halfwidth", "密码: ", "hunter2hunteU", "")
	token("a fullwidth colon", "password：", "hunter2hunteV", "，用户 root")
	token("a number", "DB_PASSWORD=", "1234567890", "")
	token("a number as a key", `{"apiKey": "`, "1234567891", `"}`)
	token("a cookie", "Cookie: ", "sid=a1b2c3d4e5", "; theme=dark")
	for _, mark := range strings.Fields("gho" + "_ ghu" + "_ github" + "_pat_ npm" + "_ rubygems" + "_ cio oy2 hf" + "_ gsk" + "_ r8" + "_ dop" + "_v1_ doo" + "_v1_ dapi sbp" + "_ nfp" + "_ pul- LTAI AKID AKLT" +
		" sk" + "_live_ rk" + "_live_ sk" + "_test_ shpss" + "_ key- SK lin" + "_oauth_ ntn" + "_ NRAK- AGE-SECRET" + "-KEY-1 sk- xai- pplx- nvapi- glpat- glt- gloas- glagent- ATATT3 ATCTT3 ATBB pypi-" + "AgE" +
		" dckr" + "_oat_ xoxb- xoxe.xoxp- xapp- SG. xkeysib- AIza ya29. 1//0 GOCSPX- HRKU- cfut" + "_ cfa" + "t_ hvs. hvb. hvr. dp.pt. tskey- pscale" + "_tkn_ sb" + "_secret_ gla" + "_ glc" + "_ glsa" + "_" +
		" figd" + "_ PMAK- whsec" + "_ sntrys" + "_ sntryu" + "_ fm1" + "_ fm2" + "_ fm1r" + "_") {
		token("20 characters behind "+mark, "got ", mark+run62(20, mark), " back")
	}
	token("Terraform", "", run62(14, "tf")+".atlas"+"v1."+run62(60, "tf2"), "")
	token("a camel", "clientSecret := \"", "a1b2c3d4-e5", "\"")
	return forms
}

func TestSecretForms(t *testing.T) {
	t.Parallel()
	redact := newRedactor(nil)
	all := ""
	for name, form := range secretForms() {
		all += form.line + "\n"
		got := redact(form.line)
		expectRedacted(t, name, redact, form.line, form.secret)
		if !strings.Contains(got, masked) {
			t.Errorf("%s: %q", name, got)
		}
		for _, quoted := range []string{fmt.Sprintf("%q", "x\n"+form.line), "\x1b[32m" + form.line + "\x1b[0m", "是" + form.line + "。"} {
			if name != "GCP service account" {
				expectRedacted(t, name+" quoted", redact, quoted, strings.Trim(fmt.Sprintf("%q", form.secret), `"`))
			}
		}
	}
	if len(secretForms()) < 30 {
		t.Error("fewer than 30 forms")
	}
	found := redact(all)
	for name, form := range secretForms() {
		for line := range strings.Lines(form.secret) {
			if len(line) > 20 && !strings.HasPrefix(line, "-----") && strings.Contains(found, strings.TrimSpace(line)) {
				t.Errorf("of all of them, %s is left", name)
			}
		}
	}
}

// expectRedacted fails where something of the secret is left.
func expectRedacted(t *testing.T, name string, redact func(string) string, text, secret string) {
	t.Helper()
	got := redact(text)
	if strings.Contains(got, secret) || strings.Contains(got, secret[len(secret)/2:]) || len(secret) > 20 && strings.Contains(got, secret[:20]) {
		t.Errorf("%s: %q became %q", name, text, got)
	}
}

// A key whose output was cut at either end is one, too; a mark that code names is none.
func TestPrivateKeys(t *testing.T) {
	redact, private := newRedactor(nil), "PRIVATE"+" KEY"
	key := pem(private, "\n")
	lines := strings.Split(key, "\n")
	for name, c := range map[string]struct{ text, want string }{
		"head":      {"$ head\n" + strings.Join(lines[:3], "\n") + "\nok", "$ head\n***\nok"},
		"tail":      {"$ tail\n" + strings.Join(lines[3:], "\n") + "\nok", "$ tail\n***\nok"},
		"cut":       {lines[2][40:] + "\n" + strings.Join(lines[3:], "\n"), lines[2][40:] + "\n***"},
		"encrypted": {strings.Replace(key, "\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00112233\n\n", 1), "***"},
		"two":       {key + "\nand\n" + key, "***\nand\n***"},
		"code":      {`strings.Contains(text, "-----BEGIN ` + private + `-----")`, ""},
		"both":      {"-----BEGIN " + private + "-----\n...\n-----END " + private + "-----\n", ""},
		"public":    {strings.ReplaceAll(key, "PRIVATE", "PUBLIC"), ""},
	} {
		if c.want == "" {
			c.want = c.text
		}
		expectIs(t, name, redact(c.text), c.want)
	}
}

var harmlessTexts = []string{
	"https://github.com/a/b/blob/main/src/hooks/useLocalStorageState.ts", "Authorization: required-by-the-server",
	"POSTGRES_PASSWORD=postgres", "SECRET_KEY=changeme", "KEYCLOAK_URL=http://localhost:8080", "TOKENIZER=tiktoken",
	"KEYSPACE=orders_v2", "SORT_KEY=created_at", "APP_KEY=unchanged", "PASSWORD=postgres", "MAX_OUTPUT_TOKENS=32000000",
	`const model = "kimi-k2-thinking"`, "ANTHROPIC_MODEL=kimi-k2-thinking-turbo",
	"providers.kimi.env.ANTHROPIC_AUTH_TOKEN: ${KIMI_TOKEN} is not set", "ANTHROPIC_AUTH_TOKEN: ${KIMI_TOKEN_2026}",
	"commit 9b74c9897bac770ffc029102a200c5de1a2b3c4d", "index 83db48f..bf2a1c3 100644", "550e8400-e29b-41d4-a716-446655440000",
	"golang.org/x/sys v0.21.0 h1:rF+pYz3DAGSQAxAu1CbC7catZg4ebC4UIeIhKxBZvws=", "github.com/zalando/go-keyring v0.2.3/go.mod h1:HL4k+OXQfJUWaMnqyuSOc0drfGPX2b51Du6K+MRgZMk=",
	`"integrity": "sha512-xOpZ1Xdk3fL8WcY2XhGYCsQ2m5E8nbnRjhnY9fCV1yjV9iHY0dUxV7JZ0s8Zq1QmI3fRkM2T0T1CkCxB6QAcGQ==",`,
	`<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==">`,
	"//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEuanMiXX0=",
	"token := getToken()", "func getToken2(ctx context.Context) (string, error) {", "token = getToken2026(ctx, 1)", "token: string", "password: str = None",
	"TOKEN=$(cat file1234)", `--token "$TOKEN"`, `curl -H "Authorization: Bearer $API_TOKEN_2"`, "token: ${{ secrets.GITHUB_TOKEN }}", "PASSWORD=${DB_PASSWORD_1}",
	"postgres://user:$PASSWORD@localhost/db", "postgres://{user}:{password}@{host}", `fmt.Sprintf("postgres://%s:%s@%s/db", u, p, h)`,
	"https://user@example.com/repo.git", "ssh://git@github.com:22/a/b.git", "git@github.com:a/b.git", "see http://localhost:8080/a@b and mail me@example.com",
	"https://cdn.example.com/npm/react@18.2.0/index.js", "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
	"--- PASS: TestLogin2024 (0.00s)\nPASS\nok  \tccc/auth\t0.012s", "PASS: tests/test_login2.py", "FAIL: test_token_3 (tests.TestToken)", "3 passed, 1 failed in 0.12s",
	"token_count: 15000000", `{"token_count": 15000000, "keySize": 20000000}`, "PWD=/home/u/project", "PWD=/home/u/project2", "a basic calculator2.py", "bearer token2 is expired", "date -u 12:30", "--key-file a1 --token",
	"docker run -u 1000:1000 a", "git push -u origin:abc",
	"key: value", "key.go:12:2: undefined: token2", "auth_test.go:145: got 12345678, want 12345679", "x-request-id: 7d3e1c1a-20b4-4c4e-8a51-1f0f5a8d1e0b",
	"Basic Authentication", "bearer exercises, x expected", "basic understanding of bearer tokens", "Bearer authentication", "msg_01XFDUDYJgAACzvnptvvzELk", "toolu_01A09q90qw90lq917835lq9x",
	"sk-container-id-1 sk-toggleable__label-arrow", "npm_config_registry_url_2", "npm_lifecycle_event", "hf_hub_download_to_directory", "key-value-store-12345678",
	"feature-ABC-1234-add-login-for-everyone-2", "2026-01-31T10:00:00Z", "v2.1.330-dev.7+abcdef1234567890", "/usr/lib/x86_64-linux-gnu/libssl.so.3",
	"if token == nil || len(key) < 32 { return errors.New(\"no key 1234\") }", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7d3e1c1a20b44c4e8a511f0f5a8d1e0b user@host",
	"password: ********", `token := "AccessDenied" // RFC 6750`, "API_KEY=<your-key-1234>", "DB_PASS=", "The secret: never say 12345678 twice.", "密码：不知道", "monkey=abcd1234efgh", "compass: north-1234", "pattern=abc-12345678",
}

func TestHarmlessTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory1")
	check(t, os.Mkdir(path, 0o700))
	t.Setenv("HOME", filepath.Dir(path))
	redact := newRedactor(nil)
	for _, text := range append(harmlessTexts, "PWD="+path, "key_file: "+path, "KEY_FILE=~/directory1", "a\n\tb  c\r\n", "", "\xff\xfe token") {
		expectIs(t, "the text", redact(text), text)
		expectIs(t, "the text, quoted", redact(fmt.Sprintf("%q", text)), fmt.Sprintf("%q", text))
	}
	whole := strings.Join(harmlessTexts, "\n")
	expectIs(t, "all of them", redact(whole), whole)
	words := []string{"POSTGRES_PASSWORD=postgres", "SECRET_KEY=changeme", "KEYCLOAK_URL=http://localhost:8080", "PWD=/home/u/project2", "OLD_PWD=" + path,
		"SORT_KEY=created_at", "SHORT_KEY=abc", "TOKENIZER=tiktoken1", "KEYSPACE=orders_v2", "MODEL=kimi-k2-thinking", "AUTH=", "APP_KEY=unchanged"}
	quoting := "postgres changeme at http://localhost:8080 in /home/u/project2, " + path + " by created_at, abc, tiktoken1 orders_v2 kimi-k2-thinking unchanged"
	expectIs(t, "values that are plain words", newRedactor(words)(quoting), quoting)
}

func TestSecretValues(t *testing.T) {
	redact := newRedactor([]string{"MY_PASSWORD=Correct horse", "API_KEY=abcd1234", "LONG_TOKEN=abcd1234-more", "OPS_AUTH=+zzz9999=", "HOOK_WEBHOOK=https://a.example/b/" + uuidOf("hook"),
		"BAD_KEY=\xff\xfe12345678", "APIKey=1234567x", "authToken=1234567y", "PGPASSWORD=1234567z", "X_PAT=.*+?[](x1", "monkey=1234567a", "PASSAGE=1234567b", "MULTI_SECRET=one 1\ntwo 2", "PATTERN=1234567c", "SPACED_KEY= abcd9876\n", "SEVEN_KEY=abcd12x",
		"KEY_COUNT=15000000", "NUMBER_PASS=15000001"})
	for text, want := range map[string]string{
		"it is Correct horse, or Correct horses": "it is ***, or Correct horses",
		"abcd1234 abcd1234-more xabcd1234":       "*** *** xabcd1234",
		"abcd1234abcd1234 abcd1234_ (abcd1234)":  "abcd1234abcd1234 abcd1234_ (***)",
		`"a\nabcd1234\n"` + "\x1b[1mabcd1234":    `"a\n***\n"` + "\x1b[1m***",
		"为abcd1234。":                             "为***。",
		"=+zzz9999=":                             "=***",
		"https://a.example/b/" + uuidOf("hook"):  "***",
		"1234567x 1234567y 1234567z .*+?[](x1":   "*** *** *** ***",
		"1234567a 1234567b 1234567c":             "1234567a 1234567b 1234567c",
		"one 1\ntwo 2":                           "***",
		"\xff\xfeabcd1234":                       "\xff\xfe***",
		"abcd9876 SPACED abcd12x OkayKey=1":      "*** SPACED abcd12x OkayKey=1",
		"15000000 of 15000001":                   "15000000 of ***",
	} {
		expectIs(t, text, redact(text), want)
	}
	// A name is a secret's with each of these words, wherever and however it is parted from others, and with no other.
	for _, word := range strings.Fields("Token Key Secret Password Passwd Pass Pwd Passphrase Pat Credentials Auth Cookie Dsn Webhook") {
		upper, lower := strings.ToUpper(word), strings.ToLower(word)
		for name, want := range map[string]bool{upper: true, "A_" + upper + "_B": true, "A2" + upper: true, lower: true, "a_" + lower + "_b": true, "a." + lower: true, lower + "Value": true, lower + "2": true,
			"my" + word: true, "my" + word + "Value": true, word: true, "a" + word + "_b": true, "A_" + upper + "X": false, "a_" + lower + "x": false, "my" + word + "x": false, lower + "x" + lower + "x": false} {
			expectIs(t, name, secretName().MatchString(name), want)
		}
	}
	for name, want := range map[string]bool{"PGPASSWORD": true, "DB_PASSWD": true, "dbtoken_a": false, "mysecret": false, "MONKEY": false, "apikeys": false, "compass": false, "": false} {
		expectIs(t, name, secretName().MatchString(name), want)
	}
	config, err := parseConfig([]byte(`{"providers":{"kimi":{"env":{"ANTHROPIC_AUTH_TOKEN":"${MOONSHOT}","ANTHROPIC_MODEL":"model-2026"}},"b":{"env":{"ANTHROPIC_API_KEY":"of-b-1234"}}}}`))
	check(t, err)
	redact = newRedactor(config.withTokens([]string{"MOONSHOT=moon-1234", "OTHER=other-1234"}))
	expectIs(t, "what the providers set", redact("moon-1234 model-2026 of-b-1234 other-1234 ${MOONSHOT}"), "*** model-2026 *** other-1234 ${MOONSHOT}")
}

// A text of megabytes takes some seconds at most, whatever is in it.
func TestRedactLinear(t *testing.T) {
	redact := newRedactor([]string{"A_TOKEN=aaaaaaaaa1", "B_TOKEN=" + masked + "+abcd12+"})
	size := 1 << 16
	if raceEnabled { // where all takes twenty times as long
		size = 1 << 12
	}
	for _, part := range []string{"a", "aaaaaaaaa1", "-----BEGIN PRIVATE" + " KEY-----", "-----END PRIVATE" + " KEY-----", run62(80, "x") + "\n", "key=", "token=token:", "eyJ", "eyJ.",
		"a_", "://a:", "://a@", "https://hook/", "Bearer ", "+abcd12+", "gh" + "p_", "KEY", "A_KEY_", "keyKey", "\x1b[0m", `\n`, "= ", "a.b-c", "***", "AKIA", "sk-", "\n"} {
		took, text := time.Minute, strings.Repeat(part, size/len(part))
		for tries := 0; took > time.Second && tries < 10; tries++ { // this machine may be busy; mostly it is some 20 ms
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
	forms := secretForms()
	names := make([]string, 0, len(forms))
	for name := range forms {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, text := range harmlessTexts {
		f.Add(text, "\n"+text, "Value-of-1234", i)
	}
	f.Add("-----BEGIN PRIVATE"+" KEY-----", "://a:b@c", "***1234567", 3)
	f.Fuzz(func(t *testing.T, before, behind, value string, n int) {
		redact := newRedactor([]string{"A_TOKEN=" + value})
		form := forms[names[uint(n)%uint(len(names))]]
		for _, text := range []string{before + behind, before + " " + value + " " + behind, before + "\n" + form.line + "\n" + behind, before + form.secret + behind} {
			got := redact(text)
			if utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Fatalf("%q became %q", text, got)
			}
		}
		value = strings.TrimSpace(value)
		if !isHarmless("A_TOKEN", value) && utf8.ValidString(value) && !strings.Contains(masked, value) {
			if got := redact(" " + value + " "); strings.Contains(got, value) {
				t.Fatalf("%q is left of %q", got, value)
			}
		}
		if got := redact(before + "\n" + form.line + "\n" + behind); !strings.Contains(before+behind, form.secret) && strings.Contains(got, form.secret) {
			t.Fatalf("%q is left", form.secret)
		}
	})
}

// What is recorded is as it came, and the reviewer and the agent get it so, also the feedback that a later request repeats and
// that was too long for one answer. No view, no message and no line of the log shows a secret of it.
func TestRedactedWhereShown(t *testing.T) {
	box := newHookBox(t)
	box.inSession()
	box.repository()
	box.installHooks()
	byValue, byForm := "Zeta-of-1234", "gh"+"p_"+run62(36, "recorded")
	both := byValue + " and " + byForm
	box.vars = append(box.vars, "MY_TOKEN="+byValue)
	long := both + strings.Repeat("长", feedbackLimit) + both
	box.write(".claude/ccc.json", 0o600, `{"supervisor":{"max_iterations":2}}`)
	command := string(encodeJSON(map[string]string{"command": "grep " + both}))
	box.reviews(fakeReview{says("I look for " + both), calls("Bash", command, both), decides(false, long)}, fails("API Error: 401 "+both))
	prompt := "deploy with " + both
	var shown strings.Builder // what people saw
	shown.WriteString(box.submit(prompt).stderr)
	path := box.transcript(`{"type":"user","uuid":"u1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":`+string(encodeJSON(prompt))+`}}`,
		`{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"role":"assistant","content":[{"type":"text","text":"done"}]}}`)
	back := box.stop(path + `,"last_assistant_message":` + string(encodeJSON("done "+both)))
	feedback := ".claude/ccc/supervisor-" + testSession + "-feedback.txt"
	expectIs(t, "the whole feedback", box.read(feedback), long)
	if info, err := os.Stat(filepath.Join(box.home, feedback)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	answer, _, _ := strings.Cut(back.stdout, `"systemMessage"`)
	expectIn(t, "what the agent gets", answer, feedback, both)
	expectIn(t, "the request", box.read("../fake/reviewer-1.stdin"), prompt, "done "+both)
	failed := box.stop(path)
	expectIn(t, "the next request", box.read("../fake/reviewer-2.stdin"), both+"\n")
	shown.WriteString(back.stderr + failed.stdout + failed.stderr)
	view := func(want string, args ...string) {
		t.Helper()
		got := box.run(20*time.Second, "", append([]string{"ccc"}, args...)...)
		expectIn(t, strings.Join(args, " "), got.stdout+got.stderr, want)
		shown.WriteString(got.stdout + got.stderr)
	}
	view("deploy with *** and ***", "log")
	view(`"words":"I look for *** and ***"`, "log", "--json")
	view(`"request":"deploy with *** and ***"`, "status", "--json")
	view("401 *** and ***", "verdict")
	limit := box.stop(path + "," + inTurn)
	expectIn(t, "the limit", limit.stdout, "*** and ***")
	question := `"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":` + string(encodeJSON("Is it "+both+"?")) + `,"options":[]}]}`
	shown.WriteString(limit.stdout + limit.stderr + box.submit("again").stdout)
	box.reviews(blocks("no: " + both))
	denied := box.hook(box.event(eventPreToolUse, question))
	expectIn(t, "the denial", denied.stdout, `"permissionDecisionReason":"no: `+both+`"`, "Is it *** and ***?")
	view("Is it *** and ***?", "log")
	expectIn(t, "the log", box.log(), "401 *** and ***")
	expectNotIn(t, "what people saw", shown.String()+denied.stderr+box.log(), byValue, byForm)
	expectIn(t, "the timeline", box.read(eventsPath), `"`+prompt+`"`, `"done `+both+`"`, `"Bash(grep `+byValue, `"I look for `+both+`"`, `长`+both+`"`, `401 `+both+`"`,
		`Is it `+both+`?`, `"no: `+both+`"`)
}

// What a running review does is shown without secrets, too.
func TestDoingRedacted(t *testing.T) {
	session := stateDir(t.TempDir()).session(testSession)
	check(t, errors.Join(session.append(began(review{ID: "r"})),
		session.append(did(step{Review: "r", Kind: stepCall, Tool: "Bash(grep " + aSecret + ")"}))))
	s := summarize(session, defaultConfig())
	expectIs(t, "for programs", s.Doing, "grep ***")
}

// Where a key begins: of a URL's user with 16 characters and a digit, in a header with a digit or as a pair in base64.
func TestCredentialBounds(t *testing.T) {
	redact := newRedactor(nil)
	for text, want := range map[string]string{
		"https://abcdefghijklmno1@h.example/r": "https://***@h.example/r",
		"https://abcdefghijklmn1@h.example/r":  "https://abcdefghijklmn1@h.example/r",
		"https://abcdefghijklmnop@h.example/r": "https://abcdefghijklmnop@h.example/r",
		"https://u:pw@h.example/r":             "https://u:***@h.example/r",
		"https://u:x@h.example/r":              "https://u:***@h.example/r",
		"DB_PASS=hunter1":                      "DB_PASS=hunter1",
		"DB_PASS=hunter12":                     "DB_PASS=***",
		"PASS: hunter12":                       "PASS: hunter12",
		"xPASS: hunter12":                      "xPASS: hunter12",
		"DB_PASS: hunter12":                    "DB_PASS: ***",
		"Bearer abcdefg1":                      "Bearer ***",
		"Bearer abcdef1":                       "Bearer abcdef1",
		"https://u:$pw@h.example/r":            "https://u:$pw@h.example/r",
		"https://u:{pw}@h.example/r":           "https://u:{pw}@h.example/r",
		"https://u:%s@h.example/r":             "https://u:%s@h.example/r",
		"Basic YWRtaW46YWRtaW4=":               "Basic ***", // admin:admin, no digit
		"Basic dXNlcjpwYXNz":                   "Basic ***", // user:pass, without a digit
		"bearer understanding":                 "bearer understanding",
		"Basic abcdefghijkl":                   "Basic abcdefghijkl", // base64 without a colon
	} {
		expectIs(t, text, redact(text), want)
	}
}
