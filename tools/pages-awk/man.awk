# A command's manual page, from its help.

function escaped(words) {
	gsub(/\\/, "\\e", words)
	gsub(/-/, "\\-", words)
	if (words ~ /^[.']/)
		words = "\\&" words
	return words
}

function section(name) {
	print ".SH " name
	is_fresh = 1
}

function trim(words) {
	gsub(/^ +| +$/, "", words)
	return words
}

# A term and what it is. Words that are all capitals or choices stand for something.
function item(term, text, words, count, i, line) {
	count = split(term, words, " ")
	line = "\\fB" escaped(words[1]) "\\fR"
	for (i = 2; i <= count; i++)
		line = line " \\fI" escaped(words[i]) "\\fR"
	print ".TP"
	print line
	if (text != "")
		print escaped(text)
	is_fresh = 0
	in_item = 1
}

BEGIN {
	printf ".TH WPOOL\\-%s 1 \"\" \"wpool %s\" \"wpool\"\n", toupper(escaped(command)), version
	section("NAME")
	print "wpool\\-" escaped(command) " \\- " escaped(summary)
	section("SYNOPSIS")
	state = "usage"
}

state == "usage" && /^$/ { state = "text"; section("DESCRIPTION"); next }
state == "usage" {
	sub(/^usage: /, "")
	print ".nf\n" escaped(trim($0)) "\n.fi"
	next
}

/^$/ { is_blank = 1; next }

/^Exit status: / {
	section("EXIT STATUS")
	sub(/^Exit status: /, "")
	in_item = 0
}

/^  [^ ]/ {
	if (/^  --/ && state == "text") {
		state = "options"
		section("OPTIONS")
	}
	line = substr($0, 3)
	gap = index(line, "  ")
	is_blank = 0
	if (gap == 0)
		item(line, "")
	else
		item(substr(line, 1, gap - 1), trim(substr(line, gap)))
	next
}

/^   / { print escaped(trim($0)); next }

{
	if (state == "options") {
		state = "notes"
		if (!/^[0-9]/)
			section("NOTES")
	} else if ((is_blank || in_item) && !is_fresh) {
		print ".PP"
	}
	is_blank = in_item = is_fresh = 0
	print escaped($0)
}

END {
	section("SEE ALSO")
	print ".BR wpool (1)"
}
