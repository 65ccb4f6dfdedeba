package main

// Which language ccc writes, and how a text in both of them is written in it.

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

const (
	chinese = "zh"
	english = "en"
)

var languages = []string{chinese, english}

// lang is the language of this process. It is set before the first text is used; ccc doctor sets it again.
var lang = chinese

// noLocale is the name of a locale without a language.
const noLocale = "C"

// localeName returns the locale of the environment, without its encoding.
func localeName() string {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG"), noLocale)
	name, _, _ := strings.Cut(locale, ".")
	if name == "POSIX" {
		return noLocale
	}
	return name
}

// words are one text in both languages. Their literals have no field names, so that the compiler finds a
// missing one. A comment at a text names the values that are filled in.
type words struct{ zh, en string }

func (w words) in(language string) string {
	if language == english {
		return w.en
	}
	return w.zh
}

// has reports whether text is w in one of its languages.
func (w words) has(text string) bool { return text == w.zh || text == w.en }

// say returns text in the language of this process, formatted as by fmt if there are values.
func say(text words, values ...any) string {
	if len(values) == 0 {
		return text.in(lang)
	}
	return fmt.Sprintf(text.in(lang), values...)
}

// sayOf is say of a value, "" for an empty one.
func sayOf(text words, value string) string {
	if value == "" {
		return ""
	}
	return say(text, value)
}

// An errText is an error whose text is in the language of this process.
type errText words

func (c errText) Error() string { return say(words(c)) }

// plural returns n with what is counted, such as 1 review, 2 reviews.
func plural(n int, what words) string {
	text := fmt.Sprint(n, " ", say(what))
	if lang == english && n != 1 {
		text += "s"
	}
	return text
}
